#include <cuda_runtime_api.h>

#include "bench/gpu_name.hpp"

namespace tutti::bench {

std::string gpu_name() {
  int device = 0;
  cudaDeviceProp properties{};
  if (cudaGetDevice(&device) == cudaSuccess && cudaGetDeviceProperties(&properties, device) == cudaSuccess)
    return properties.name;
  cudaGetLastError();
  return {};
}

}  // namespace tutti::bench
