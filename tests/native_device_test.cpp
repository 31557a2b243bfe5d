// TUTTI_DEVICE, which builds with and without CUDA read alike.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>

#include "collectives/gpu_driver.hpp"
#include "collectives/tutti.hpp"

namespace tutti {
namespace {

class TuttiDevice : public testing::Test {
 protected:
  void TearDown() override { unsetenv("TUTTI_DEVICE"); }
};

/// What a session of two ranks throws.
Error error_with(const char* device) {
  setenv("TUTTI_DEVICE", device, 1);
  try {
    run_threads(2, [](Session&) { ADD_FAILURE() << "a session came up"; }, {.backend = BackendKind::native});
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorCode::system, "no error");
}

void expect_the_cpu() {
  run_threads(2,
              [](Session& session) {
                EXPECT_FALSE(session.on_gpu()) << "rank " << session.rank();
                Communicator comm = session.communicator();
                float value = 1;
                comm.all_reduce(&value, &value, 1, ReduceOp::sum);
                EXPECT_EQ(value, 2) << "rank " << session.rank();
              },
              {.backend = BackendKind::native});
}

TEST_F(TuttiDevice, OfAnUnknownSpellingIsRefusedByEveryBuild) {
  const Error error = error_with("tpu");
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
  EXPECT_NE(std::string(error.what()).find("TUTTI_DEVICE is 'tpu'"), std::string::npos) << error.what();
}

TEST_F(TuttiDevice, UnsetOrEmptyWithoutAGpuMeansTheCpuWithoutAWord) {
  if (lack_of_gpu().empty()) GTEST_SKIP() << "there is a GPU driver";
  testing::internal::CaptureStderr();
  unsetenv("TUTTI_DEVICE");
  expect_the_cpu();
  setenv("TUTTI_DEVICE", "", 1);
  expect_the_cpu();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(TuttiDevice, CpuMeansTheCpuWhateverThereIs) {
  setenv("TUTTI_DEVICE", "cpu", 1);
  expect_the_cpu();
}

TEST_F(TuttiDevice, GpuWithoutAGpuSaysWhatIsMissingAndTheWayOut) {
  if (lack_of_gpu().empty()) GTEST_SKIP() << "there is a GPU driver";
  const Error error = error_with("gpu");
  EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
  EXPECT_NE(std::string(error.what()).find("TUTTI_DEVICE=cpu"), std::string::npos) << error.what();
}

TEST_F(TuttiDevice, AutoWithoutAGpuRunsOnTheCpuAndSaysWhyOnce) {
  if (lack_of_gpu().empty()) GTEST_SKIP() << "there is a GPU driver";
  setenv("TUTTI_DEVICE", "auto", 1);
  testing::internal::CaptureStderr();
  expect_the_cpu();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find("tutti: running on the CPU: "), 0u) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST_F(TuttiDevice, WithoutADriverASessionStartsInMilliseconds) {
  if (lack_of_gpu().empty()) GTEST_SKIP() << "there is a GPU driver";
  unsetenv("TUTTI_DEVICE");
  // The best of several, so that only a cost of its own fails.
  auto best = std::chrono::steady_clock::duration::max();
  for (int i = 0; i < 10; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    run_threads(1, [](Session&) {}, {.backend = BackendKind::native});
    best = std::min(best, std::chrono::steady_clock::now() - begin);
  }
  EXPECT_LT(std::chrono::duration<double>(best).count(), 0.010);
}

TEST_F(TuttiDevice, NcclWithoutAGpuIsOneLineThatNamesTheWayOut) {
  for (const char* const device : {"", "cpu", "gpu", "auto"}) {
    if (std::string(device) != "cpu" && lack_of_gpu().empty()) continue;
    setenv("TUTTI_DEVICE", device, 1);
    try {
      run_threads(2, [](Session&) { ADD_FAILURE() << "a session came up"; }, {.backend = BackendKind::nccl});
      ADD_FAILURE() << "TUTTI_DEVICE '" << device << "': no error";
    } catch (const Error& error) {
      const std::string what = error.what();
      EXPECT_EQ(error.code(), ErrorCode::unsupported) << what;
      EXPECT_NE(what.find("backend nccl"), std::string::npos) << what;
      EXPECT_NE(what.find("native"), std::string::npos) << what;
      EXPECT_EQ(what.find('\n'), std::string::npos) << what;
    }
  }
}

}  // namespace
}  // namespace tutti
