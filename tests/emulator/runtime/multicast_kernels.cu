#include "tests/emulator/runtime/multicast_kernels.hpp"

namespace tutti::emulated::test {
namespace {

__global__ void sum(const int* from, int* to) {
  int value;
  asm volatile("multimem.ld_reduce.relaxed.sys.global.add.s32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  *to = value;
}
__global__ void store(int* to, int what) {
  asm volatile("multimem.st.relaxed.sys.global.s32 [%0], %1;" ::"l"(to), "r"(what) : "memory");
}
__global__ void add(int* to, int what) {
  asm volatile("multimem.red.relaxed.sys.global.add.s32 [%0], %1;" ::"l"(to), "r"(what) : "memory");
}

}  // namespace

void launch_multimem_sum(const int* from, int* to, cudaStream_t stream) { sum<<<1, 1, 0, stream>>>(from, to); }
void launch_multimem_store(int* to, int what, cudaStream_t stream) { store<<<1, 1, 0, stream>>>(to, what); }
void launch_multimem_add(int* to, int what, cudaStream_t stream) { add<<<1, 1, 0, stream>>>(to, what); }

}  // namespace tutti::emulated::test
