// Compiled with --default-stream per-thread, which gives every entry point of streams another name. Holds of CUDA's own
// runtime as well.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tests/emulator/runtime/test_kernels.hpp"

namespace tutti::emulated::test {
namespace {

__global__ void increment(int* values) { values[threadIdx.x] += 1; }

TEST(PerThreadStream, IsTheDefaultOfEveryCall) {
  const HostInts gate(1), passed(1);
  int* values = nullptr;
  check(cudaMalloc(&values, 32 * sizeof(int)));
  check(cudaMemset(values, 0, 32 * sizeof(int)));
  check(cudaDeviceSynchronize());
  // This thread's default stream is held up.
  launch_wait(gate.get(), 1, passed.get(), 1, cudaStreamPerThread);
  increment<<<1, 32>>>(values);
  std::vector<int> seen(32, -1), after(32, -1);
  std::thread([&] {
    // The other thread's is not, nor do its calls wait for the first.
    check(cudaMemsetAsync(values, 0, 0));
    check(cudaMemcpy(seen.data(), values, 32 * sizeof(int), cudaMemcpyDeviceToHost));
    check(cudaStreamSynchronize(nullptr));
  }).join();
  EXPECT_EQ(seen, std::vector<int>(32, 0));
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);
  cudaGetLastError();
  gate.put(1);
  check(cudaMemcpyAsync(after.data(), values, 32 * sizeof(int), cudaMemcpyDeviceToHost));
  check(cudaStreamSynchronize(nullptr));
  EXPECT_EQ(after, std::vector<int>(32, 1)) << "in order with the kernel before";
  check(cudaFree(values));
}

}  // namespace
}  // namespace tutti::emulated::test
