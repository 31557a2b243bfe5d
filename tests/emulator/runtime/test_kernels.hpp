// Kernels for the tests of the stand-in runtime, and what the tests say alike. The tests hold of CUDA's own runtime on
// a GPU as well, where not otherwise said.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

/// So that GoogleTest prints an error by its name.
inline void PrintTo(cudaError_t error, std::ostream* out) { *out << cudaGetErrorName(error); }

namespace tutti::emulated::test {

/// values[i] += what, for each i < n.
void launch_add(int* values, int n, int what, cudaStream_t stream);
/// *to = what, as a store that other kernels and the host wait for.
void launch_set(int* to, int what, cudaStream_t stream);
/// Waits until *flag is at least `least`, then *to = what; after 20 seconds gives up, and *to = -1.
void launch_wait(const int* flag, int least, int* to, int what, cudaStream_t stream);
/// *to = the number of blocks that ran, of a grid of so many.
void launch_count_blocks(int blocks, int* to, cudaStream_t stream);
/// Every block waits until all have come, which they can only if all are resident; then as launch_count_blocks.
cudaError_t launch_meet(int blocks, int* counter, int* to, cudaStream_t stream);
void launch_store(int* to, cudaStream_t stream);
void launch_misaligned_store(char* to, cudaStream_t stream);
void launch_assert_below(int value, int most, cudaStream_t stream);
void launch_print(int value, cudaStream_t stream);
/// to[i] = table[i] + counter for the four values of the __constant__ table; then ++counter, a __device__ variable.
void launch_use_variables(int* to, cudaStream_t stream);

const void* add_kernel();
const void* bounded_kernel();  ///< compiled for at most 128 threads
const void* shared_kernel();   ///< (int* to) with dynamic shared memory
const void* table_symbol();
const void* counter_symbol();

inline void check(cudaError_t result) {
  if (result != cudaSuccess) throw std::runtime_error(cudaGetErrorName(result));
}

/// Zeroed memory of the current device.
class Ints {
 public:
  explicit Ints(std::size_t n) : n_(n) {
    check(cudaMalloc(&at_, n * sizeof(int)));
    check(cudaMemset(at_, 0, n * sizeof(int)));
    check(cudaDeviceSynchronize());
  }
  ~Ints() { cudaFree(at_); }
  Ints(const Ints&) = delete;
  Ints& operator=(const Ints&) = delete;

  int* get() const { return static_cast<int*>(at_); }
  /// What is in it once all the device's work is done.
  std::vector<int> read() const {
    std::vector<int> values(n_);
    check(cudaDeviceSynchronize());
    check(cudaMemcpy(values.data(), at_, n_ * sizeof(int), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  void* at_ = nullptr;
  std::size_t n_;
};

class OwnedStream {
 public:
  explicit OwnedStream(unsigned flags = cudaStreamNonBlocking) { check(cudaStreamCreateWithFlags(&stream_, flags)); }
  ~OwnedStream() { cudaStreamDestroy(stream_); }
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// Pinned host memory that kernels and the host share.
class HostInts {
 public:
  explicit HostInts(std::size_t n) {
    check(cudaHostAlloc(&at_, n * sizeof(int), cudaHostAllocMapped));
    for (std::size_t i = 0; i < n; ++i) get()[i] = 0;
  }
  ~HostInts() { cudaFreeHost(at_); }
  HostInts(const HostInts&) = delete;
  HostInts& operator=(const HostInts&) = delete;
  int* get() const { return static_cast<int*>(at_); }
  void put(int what) const { __atomic_store_n(get(), what, __ATOMIC_RELEASE); }

 private:
  void* at_ = nullptr;
};

}  // namespace tutti::emulated::test
