// What kernels do wrong, and how errors are remembered. Holds of CUDA's own runtime as well.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>

#include "tests/emulator/runtime/test_kernels.hpp"

namespace tutti::emulated::test {
namespace {

TEST(Errors, AreRememberedUntilTheyAreTaken) {
  ASSERT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
  int count = 0;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaSuccess) << "a success forgets no error";
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(Errors, HaveNamesAndTexts) {
  EXPECT_STREQ(cudaGetErrorName(cudaErrorInvalidDevice), "cudaErrorInvalidDevice");
  EXPECT_STREQ(cudaGetErrorString(cudaSuccess), "no error");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
  EXPECT_STREQ(cudaGetErrorName(static_cast<cudaError_t>(123456)), "unrecognized error code");
}

/// In a process of its own: launches, and every call says what went wrong, from then on.
class Faults : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  [[noreturn]] static void end_with(cudaError_t expected, const std::function<void()>& wrong) {
    wrong();
    if (cudaGetLastError() != cudaSuccess) std::exit(1);  // the launch itself is in order
    if (cudaDeviceSynchronize() != expected) std::exit(2);
    void* memory = nullptr;
    if (cudaMalloc(&memory, 16) != expected) std::exit(3);
    cudaGetLastError();
    cudaStream_t stream = nullptr;
    if (cudaStreamCreate(&stream) != expected) std::exit(4);
    std::exit(0);
  }
};

TEST_F(Faults, OfAddressesStay) {
  EXPECT_EXIT(end_with(cudaErrorIllegalAddress, [] { launch_store(reinterpret_cast<int*>(64), nullptr); }),
              testing::ExitedWithCode(0), "");
}

TEST_F(Faults, OfAlignmentStay) {
  EXPECT_EXIT(end_with(cudaErrorMisalignedAddress,
                       [] {
                         char* memory = nullptr;
                         cudaMalloc(&memory, 64);
                         launch_misaligned_store(memory, nullptr);
                       }),
              testing::ExitedWithCode(0), "");
}

TEST_F(Faults, OfAssertionsStayAndSayWhich) {
  EXPECT_EXIT(end_with(cudaErrorAssert, [] { launch_assert_below(3, 2, nullptr); }), testing::ExitedWithCode(0),
              "test_kernels.cu:[0-9]+: .*assert_below.*: block: \\[0,0,[01]\\], thread: \\[0,[01],0\\] Assertion "
              "`value < most` failed.");
}

TEST_F(Faults, ReachThoseWhoWaitForEvents) {
  EXPECT_EXIT(
      {
        cudaEvent_t event = nullptr;
        cudaEventCreate(&event);
        launch_store(reinterpret_cast<int*>(64), nullptr);
        cudaEventRecord(event, nullptr);
        std::exit(cudaEventSynchronize(event) == cudaErrorIllegalAddress ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(Faults, AreForgottenByNobodyButAReset) {
  EXPECT_EXIT(
      {
        launch_assert_below(3, 4, nullptr);
        if (cudaDeviceSynchronize() != cudaSuccess) std::exit(1);
        int* values = nullptr;
        cudaMalloc(&values, 4);
        cudaStream_t stream = nullptr;
        cudaStreamCreate(&stream);
        if (cudaDeviceReset() != cudaSuccess) std::exit(2);
        if (cudaFree(values) == cudaSuccess) std::exit(3);  // it is gone
        cudaGetLastError();
        if (cudaMalloc(&values, 4) != cudaSuccess) std::exit(4);
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tutti::emulated::test
