// Kernels of one thread that touch multicast memory.
#pragma once

#include <cuda_runtime_api.h>

namespace tutti::emulated::test {

/// *to = the sum of what the devices have at `from`.
void launch_multimem_sum(const int* from, int* to, cudaStream_t stream);
/// All devices get `what` at `to`, or have it added there.
void launch_multimem_store(int* to, int what, cudaStream_t stream);
void launch_multimem_add(int* to, int what, cudaStream_t stream);

}  // namespace tutti::emulated::test
