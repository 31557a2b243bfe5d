// TUTTI_DEVICE, which builds with and without CUDA read alike.
#include <gtest/gtest.h>

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

TEST_F(TuttiDevice, UnsetOrEmptyMeansTheCpu) {
  unsetenv("TUTTI_DEVICE");
  expect_the_cpu();
  setenv("TUTTI_DEVICE", "", 1);
  expect_the_cpu();
}

TEST_F(TuttiDevice, GpuWithoutAGpuSaysWhatIsMissingAndTheWayOut) {
  if (lack_of_gpu().empty()) GTEST_SKIP() << "there is a GPU driver";
  const Error error = error_with("gpu");
  EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
  EXPECT_NE(std::string(error.what()).find("TUTTI_DEVICE=cpu"), std::string::npos) << error.what();
}

TEST_F(TuttiDevice, AutoWithoutAGpuRunsOnTheCpu) {
  if (lack_of_gpu().empty()) GTEST_SKIP() << "there is a GPU driver";
  setenv("TUTTI_DEVICE", "auto", 1);
  expect_the_cpu();
}

}  // namespace
}  // namespace tutti
