#undef NDEBUG  // one test is about an assertion
#include <cassert>
#include <cstdio>

#include "tests/emulator/runtime/test_kernels.hpp"

namespace tutti::emulated::test {
namespace {

__constant__ int table[4];
__device__ int counter = 100;

__device__ unsigned long long nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void add(int* values, int n, int what) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) values[i] += what;
}

__global__ void set(int* to, int what) {
  __threadfence_system();
  *static_cast<volatile int*>(to) = what;
}

__global__ void wait_for(const int* flag, int least, int* to, int what) {
  const unsigned long long patience = 20'000'000'000ull, begin = nanoseconds();
  while (*static_cast<const volatile int*>(flag) < least) {
    if (nanoseconds() - begin > patience) {
      *to = -1;
      return;
    }
  }
  __threadfence_system();
  *to = what;
}

__global__ void count_blocks(int* to) {
  if (threadIdx.x == 0) atomicAdd(to, 1);
}

__global__ void meet(int* arrived, int* to) {
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1);
    while (*static_cast<volatile int*>(arrived) < static_cast<int>(gridDim.x)) {
    }
    atomicAdd(to, 1);
  }
}

__global__ void store(int* to) { *to = 1; }
__global__ void misaligned_store(char* to) { *reinterpret_cast<int*>(to + 1) = 1; }
__global__ void assert_below(int value, int most) { assert(value < most); }
__global__ void print(int value) { printf("the kernel says %d, %s\n", value, "and a word"); }

__global__ void use_variables(int* to) {
  const int before = counter;
  __syncthreads();
  to[threadIdx.x] = table[threadIdx.x] + before;
  if (threadIdx.x == 0) counter = before + 1;
}

__global__ void __launch_bounds__(128) bounded(int* to) { to[threadIdx.x] = 1; }

__global__ void with_shared(int* to) {
  extern __shared__ int scratch[];
  scratch[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncthreads();
  to[threadIdx.x] = scratch[blockDim.x - 1 - threadIdx.x];
}

}  // namespace

void launch_add(int* values, int n, int what, cudaStream_t stream) {
  add<<<(n + 63) / 64, 64, 0, stream>>>(values, n, what);
}
void launch_set(int* to, int what, cudaStream_t stream) { set<<<1, 1, 0, stream>>>(to, what); }
void launch_wait(const int* flag, int least, int* to, int what, cudaStream_t stream) {
  wait_for<<<1, 1, 0, stream>>>(flag, least, to, what);
}
void launch_count_blocks(int blocks, int* to, cudaStream_t stream) { count_blocks<<<blocks, 32, 0, stream>>>(to); }
cudaError_t launch_meet(int blocks, int* arrived, int* to, cudaStream_t stream) {
  void* arguments[] = {&arrived, &to};
  return cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(&meet), dim3(blocks), dim3(1024), arguments, 0,
                                     stream);
}
void launch_store(int* to, cudaStream_t stream) { store<<<1, 1, 0, stream>>>(to); }
void launch_misaligned_store(char* to, cudaStream_t stream) { misaligned_store<<<1, 1, 0, stream>>>(to); }
void launch_assert_below(int value, int most, cudaStream_t stream) {
  assert_below<<<dim3(1, 1, 2), dim3(1, 2), 0, stream>>>(value, most);
}
void launch_print(int value, cudaStream_t stream) { print<<<1, 1, 0, stream>>>(value); }
void launch_use_variables(int* to, cudaStream_t stream) { use_variables<<<1, 4, 0, stream>>>(to); }

const void* add_kernel() { return reinterpret_cast<const void*>(&add); }
const void* bounded_kernel() { return reinterpret_cast<const void*>(&bounded); }
const void* shared_kernel() { return reinterpret_cast<const void*>(&with_shared); }
const void* table_symbol() { return &table; }
const void* counter_symbol() { return &counter; }

}  // namespace tutti::emulated::test
