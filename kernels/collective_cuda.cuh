// A collective kernel as a __global__ function. Its instances are spread over a few files, so that they compile at
// once.
#pragma once
#include "kernels/block_cuda.cuh"
#include "kernels/kernels.hpp"
#include "kernels/launch_cuda.hpp"

namespace tutti {

// One block per multiprocessor is enough, so a thread may have 168 registers.
#define TUTTI_LAUNCH_BOUNDS __launch_bounds__(kCudaThreads, 1)

template <Kernel kernel>
__global__ void TUTTI_LAUNCH_BOUNDS collective(const __grid_constant__ Team team, const __grid_constant__ Call call,
                                               const __grid_constant__ Reports reports) {
  CudaBlock block(team, call, reports, static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x));
  run_kernel(kernel, block, call);
}

using Collective = void (*)(Team, Call, Reports);
/// The kernel's function; null if another of these has it, or none (send and recv go by launch_messages).
Collective ring_collective(Kernel kernel);
Collective shot_collective(Kernel kernel);
Collective direct_collective(Kernel kernel);
Collective moving_collective(Kernel kernel);

}  // namespace tutti
