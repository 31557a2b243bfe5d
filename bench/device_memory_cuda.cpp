#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "bench/device_memory.hpp"
#include "collectives/error.hpp"

namespace tutti::bench {

std::shared_ptr<std::byte> device_memory(std::size_t bytes) {
  void* memory = nullptr;
  cudaError_t status = cudaMalloc(&memory, bytes);
  if (status == cudaSuccess) status = cudaMemset(memory, 0, bytes);
  std::shared_ptr<std::byte> owner(static_cast<std::byte*>(memory), [](std::byte* p) { cudaFree(p); });
  if (status != cudaSuccess)
    throw Error(ErrorCode::system, fmt::format("bench: {} bytes of a GPU's memory: {}; ask for a smaller -e", bytes,
                                               cudaGetErrorString(status)));
  return owner;
}

}  // namespace tutti::bench
