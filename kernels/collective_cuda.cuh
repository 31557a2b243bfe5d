// A collective kernel as a __global__ function, for the files that instantiate it.
#pragma once
#include "kernels/block_cuda.cuh"
#include "kernels/instance_cuda.hpp"

namespace tutti {

template <Kernel kernel>
__global__ void TUTTI_LAUNCH_BOUNDS collective(const __grid_constant__ Team team, const __grid_constant__ Call call,
                                               const __grid_constant__ Reports reports) {
  CudaBlock block(team, call, reports, static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x));
  run_kernel<kernel>(block, call);
}

/// The instance of a kernel. Each is instantiated in one of the *_cuda.cu files and named in launch_cuda.cu.
template <Kernel kernel>
Collective instance() {
  return collective<kernel>;
}

}  // namespace tutti
