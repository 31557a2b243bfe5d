// Memory for NCCL's calls.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "collectives/backend.hpp"
#include "collectives/nccl_library.hpp"

namespace tutti {

/// Memory of the current device, by NCCL's allocator where it has one, which its fastest paths ask for. To free memory
/// waits for the device's kernels, so what its owners let go of is put aside until `free_retired` or the end.
class NcclMemory : public std::enable_shared_from_this<NcclMemory> {
 public:
  explicit NcclMemory(const nccl::Library& library) : nccl_(library) {}
  ~NcclMemory();
  NcclMemory(const NcclMemory&) = delete;
  NcclMemory& operator=(const NcclMemory&) = delete;

  /// 2 MiB-aligned. Throws ErrorCode::system, saying what was asked for and what is free. Somebody must own it, or it
  /// lives as long as this.
  void* allocate(std::size_t bytes);
  std::shared_ptr<detail::SegmentOwner> owner_of(void* memory);
  /// While no call is in flight.
  void free_retired();

 private:
  struct Owner;
  void free(void* memory);
  void retire(void* memory);

  const nccl::Library& nccl_;
  std::mutex mutex_;
  std::vector<void*> alive_;
  std::vector<void*> retired_;
};

}  // namespace tutti
