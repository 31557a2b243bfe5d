#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <vector>

#include "tests/emulator/runtime/address_space.hpp"

namespace tutti::emulated {

/// One piece of memory that kernels may touch, and who may.
struct Allocation {
  enum class Kind {
    device,       ///< cudaMalloc
    pool,         ///< cudaMallocAsync
    imported,     ///< cudaIpcOpenMemHandle
    virtual_map,  ///< cuMemMap: `accessible` says who may
    variable,     ///< a __device__ or __constant__ variable of a module
    pinned,       ///< cudaHostAlloc
    registered,   ///< cudaHostRegister
    managed,      ///< cudaMallocManaged
  };

  Kind kind = Kind::device;
  std::uintptr_t address = 0;  ///< as the program sees it
  std::size_t bytes = 0;       ///< as asked for: a byte beyond is out of bounds
  int device = 0;              ///< where it lives, or whose context mapped it
  unsigned flags = 0;          ///< of cudaHostAlloc, cudaHostRegister
  std::uint64_t serial = 0;    ///< never the same twice in a process
  std::shared_ptr<MemoryFile> file;
  std::size_t file_offset = 0;
  /// Bit d: kernels of device d may read, may write. For virtual_map only; peer access decides for `device` and `pool`.
  std::uint64_t may_read = 0, may_write = 0;
  /// Called when it is released; unmaps and gives back what belongs to it.
  std::shared_ptr<void> owner;

  bool holds(std::uintptr_t at, std::size_t size) const {
    return at - address < bytes && size <= bytes - (at - address);
  }
  bool on_host() const { return kind == Kind::pinned || kind == Kind::registered || kind == Kind::managed; }
};

using AllocationPointer = std::shared_ptr<const Allocation>;

/// All memory that kernels of this process may touch.
class AllocationTable {
 public:
  static AllocationTable& instance();

  void insert(AllocationPointer allocation);
  /// Takes the allocation that starts at the address; null if none does.
  AllocationPointer remove(std::uintptr_t address);
  /// The allocation that has the address within it; null if none has.
  AllocationPointer find(std::uintptr_t address) const;
  /// Every allocation that `wanted` says yes to.
  template <class Wanted>
  std::vector<AllocationPointer> all(Wanted wanted) const {
    std::shared_lock lock(mutex_);
    std::vector<AllocationPointer> found;
    for (const auto& [address, allocation] : by_address_)
      if (wanted(*allocation)) found.push_back(allocation);
    return found;
  }

  /// Changes whenever an allocation goes, so that what a thread remembers of `find` can be known to be old.
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  mutable std::shared_mutex mutex_;
  std::map<std::uintptr_t, AllocationPointer> by_address_;
  std::atomic<std::uint64_t> generation_{1};
};

/// May a kernel of the device do this there? Empty if so, else what is wrong, in words ("beyond the end of ...").
std::string why_not(int device, std::uintptr_t address, std::size_t bytes, bool write);

/// Device memory of its own file, as cudaMalloc gives it; throws Failure(cudaErrorMemoryAllocation) beyond the
/// device's capacity. Not waiting for anything, so streams may call it.
AllocationPointer allocate_on_device(int device, std::size_t bytes, Allocation::Kind kind);
/// The opposite. What still runs on it is the caller's affair.
void release(const AllocationPointer& allocation);

}  // namespace tutti::emulated
