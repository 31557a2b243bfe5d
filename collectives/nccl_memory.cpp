#include "collectives/nccl_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "kernels/views.hpp"

namespace tutti {

struct NcclMemory::Owner : detail::SegmentOwner {
  Owner(std::shared_ptr<NcclMemory> from, void* at) : source(std::move(from)), memory(at) {}
  ~Owner() override { source->retire(memory); }
  std::shared_ptr<NcclMemory> source;
  void* memory;
};

NcclMemory::~NcclMemory() {
  free_retired();
  for (void* const memory : alive_) free(memory);
}

void NcclMemory::free(void* memory) {
  if (nccl_.mem_alloc && nccl_.mem_free)
    nccl_.mem_free(memory);
  else
    cudaFree(memory);
}

void* NcclMemory::allocate(std::size_t bytes) {
  constexpr std::size_t kWhole = std::size_t{2} << 20;
  void* memory = nullptr;
  bool given = false;
  std::string why;
  if (bytes <= SIZE_MAX - kWhole) {
    const std::size_t whole = ceil_div(bytes, kWhole) * kWhole;
    if (nccl_.mem_alloc && nccl_.mem_free) {
      const nccl::Result result = nccl_.mem_alloc(&memory, whole);
      given = result == nccl::Result::success;
      // Memory need not be short: it refuses what the driver or the machine lacks, too.
      if (!given) why = fmt::format(" (ncclMemAlloc: {})", nccl_.get_error_string(result));
    } else {
      given = cudaMalloc(&memory, whole) == cudaSuccess;
    }
  }
  if (!given) {
    cudaGetLastError();
    std::size_t free = 0, total = 0;
    cudaMemGetInfo(&free, &total);
    throw Error(ErrorCode::system,
                fmt::format("the GPU cannot give {} bytes{}; {} of {} are free", bytes, why, free, total));
  }
  const std::lock_guard lock(mutex_);
  alive_.push_back(memory);
  return memory;
}

std::shared_ptr<detail::SegmentOwner> NcclMemory::owner_of(void* memory) {
  return memory ? std::make_shared<Owner>(shared_from_this(), memory) : nullptr;
}

void NcclMemory::retire(void* memory) {
  const std::lock_guard lock(mutex_);
  std::erase(alive_, memory);
  retired_.push_back(memory);
}

void NcclMemory::free_retired() {
  const std::lock_guard lock(mutex_);
  for (void* const memory : retired_) free(memory);
  retired_.clear();
}

}  // namespace tutti
