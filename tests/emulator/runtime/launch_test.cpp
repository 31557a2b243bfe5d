// Launches, what is refused, and what a program can ask of its kernels. Holds of CUDA's own runtime as well.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/emulator/runtime/test_kernels.hpp"

namespace tutti::emulated::test {
namespace {

cudaError_t launch(const void* kernel, dim3 grid, dim3 block, std::size_t shared, int* to) {
  void* arguments[] = {&to};
  return cudaLaunchKernel(kernel, grid, block, arguments, shared, nullptr);
}

class Launches : public testing::Test {
 protected:
  void TearDown() override {
    cudaGetLastError();
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << "a refused launch must leave the device as it is";
  }
  Ints to_{1024};
};

TEST_F(Launches, OfTooManyOrNoThreadsAreRefused) {
  EXPECT_EQ(launch(shared_kernel(), 1, 1025, 0, to_.get()), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(shared_kernel(), 1, dim3(32, 33), 0, to_.get()), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(shared_kernel(), 1, 0, 0, to_.get()), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(shared_kernel(), 0, 32, 0, to_.get()), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(shared_kernel(), dim3(1, 65536), 32, 0, to_.get()), cudaErrorInvalidConfiguration);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
}

TEST_F(Launches, BeyondWhatTheKernelWasCompiledForAreRefused) {
  EXPECT_NE(launch(bounded_kernel(), 1, 129, 0, to_.get()), cudaSuccess);
  EXPECT_EQ(launch(bounded_kernel(), 1, 128, 0, to_.get()), cudaSuccess);
}

TEST_F(Launches, WithMoreSharedMemoryThanAskedForAreRefused) {
  constexpr int large = 64 << 10, usual = 48 << 10;
  EXPECT_EQ(launch(shared_kernel(), 1, 32, large, to_.get()), cudaErrorInvalidValue);
  ASSERT_EQ(cudaFuncSetAttribute(shared_kernel(), cudaFuncAttributeMaxDynamicSharedMemorySize, large), cudaSuccess);
  EXPECT_EQ(launch(shared_kernel(), 1, 32, large, to_.get()), cudaSuccess);
  EXPECT_NE(cudaFuncSetAttribute(shared_kernel(), cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20), cudaSuccess);
  EXPECT_EQ(cudaFuncSetAttribute(shared_kernel(), cudaFuncAttributeMaxDynamicSharedMemorySize, usual), cudaSuccess);
}

TEST_F(Launches, OfWhatIsNoKernelAreRefused) {
  static const int no_kernel = 0;
  EXPECT_EQ(launch(&no_kernel, 1, 1, 0, to_.get()), cudaErrorInvalidDeviceFunction);
}

TEST_F(Launches, ExchangeThroughSharedMemory) {
  ASSERT_EQ(launch(shared_kernel(), 1, 1024, 4096, to_.get()), cudaSuccess);
  const auto there = to_.read();
  for (int i = 0; i < 1024; ++i) ASSERT_EQ(there[static_cast<std::size_t>(i)], 1023 - i) << "index " << i;
}

TEST_F(Launches, OfMoreBlocksThanFitRunThemAll) {
  int multiprocessors = 0, each = 0;
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, shared_kernel(), 32, 0));
  const int blocks = 2 * multiprocessors * each + 1;
  launch_count_blocks(blocks, to_.get(), nullptr);
  EXPECT_EQ(to_.read()[0], blocks);
}

TEST_F(Launches, CooperativeRunAllBlocksAtOnceOrAreRefused) {
  int multiprocessors = 0, each = 0;
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  const Ints arrived(1);
  ASSERT_EQ(launch_meet(16, arrived.get(), to_.get(), nullptr), cudaSuccess);
  EXPECT_EQ(to_.read()[0], 16);
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, shared_kernel(), 1024, 0));
  EXPECT_EQ(launch_meet(multiprocessors * each + 1, arrived.get(), to_.get(), nullptr),
            cudaErrorCooperativeLaunchTooLarge);
}

TEST_F(Launches, WithAConfigurationDoTheSame) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {1, 1, 1};
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = 1;
  configuration.blockDim = 64;
  configuration.dynamicSmemBytes = 256;
  configuration.attrs = &attribute;
  configuration.numAttrs = 1;
  int* to = to_.get();
  void* arguments[] = {&to};
  ASSERT_EQ(cudaLaunchKernelExC(&configuration, shared_kernel(), arguments), cudaSuccess);
  EXPECT_EQ(to_.read()[0], 63);
}

TEST_F(Launches, PrintToStandardOutput) {
  testing::internal::CaptureStdout();
  launch_print(42, nullptr);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  std::fflush(stdout);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "the kernel says 42, and a word\n");
}

TEST_F(Launches, KnowTheirKernels) {
  cudaFuncAttributes attributes;
  ASSERT_EQ(cudaFuncGetAttributes(&attributes, bounded_kernel()), cudaSuccess);
  EXPECT_EQ(attributes.maxThreadsPerBlock, 128);
  EXPECT_GT(attributes.numRegs, 0);
  EXPECT_LE(attributes.numRegs, 255);
  EXPECT_EQ(attributes.sharedSizeBytes, 0u);
  EXPECT_GE(attributes.binaryVersion, attributes.ptxVersion);
  const char* name = nullptr;
  ASSERT_EQ(cudaFuncGetName(&name, bounded_kernel()), cudaSuccess);
  EXPECT_NE(std::string(name).find("bounded"), std::string::npos) << name;
  EXPECT_EQ(cudaFuncGetAttributes(&attributes, &name), cudaErrorInvalidDeviceFunction);
}

TEST_F(Launches, OccupancyFallsWithThreadsAndSharedMemory) {
  int few = 0, many = 0, shared = 0, none = 1;
  ASSERT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&few, shared_kernel(), 128, 0), cudaSuccess);
  ASSERT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&many, shared_kernel(), 1024, 0), cudaSuccess);
  ASSERT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&shared, shared_kernel(), 128, 40 << 10), cudaSuccess);
  ASSERT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&none, bounded_kernel(), 256, 0), cudaSuccess);
  EXPECT_GT(few, many);
  EXPECT_GT(few, shared);
  EXPECT_GE(many, 1);
  EXPECT_GE(shared, 1);
  EXPECT_EQ(none, 0);
}

}  // namespace
}  // namespace tutti::emulated::test
