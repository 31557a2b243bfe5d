#include <cuda_runtime_api.h>

#include "collectives/gpu_driver.hpp"

namespace tutti {

std::string lack_of_gpu() {
  int driver = 0;  // stays so without a driver
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0) return "";
  cudaGetLastError();
  return "there is no GPU driver";
}

}  // namespace tutti
