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

class MemoryPool;

/// One piece of memory that kernels may touch, and who may.
struct Allocation {
  enum class Kind {
    device,       ///< cudaMalloc
    pool,         ///< cudaMallocAsync
    imported,     ///< cudaIpcOpenMemHandle
    virtual_map,  ///< cuMemMap: `may_read` and `may_write` say who may
    multicast,    ///< cuMemMap of a multicast object, for multimem instructions only
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
  /// Bit d: kernels of device d may read, may write. All of it for virtual_map; for the kinds of one device, besides
  /// that device and those that have it as a peer.
  std::uint64_t may_read = 0, may_write = 0;
  std::shared_ptr<MemoryPool> pool;  ///< it came from
  std::shared_ptr<void> object;      ///< of virtual_map and multicast: the MemoryObject that is mapped

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
  /// The last one that starts at the address or before it; null if there is none.
  AllocationPointer find_before(std::uintptr_t address) const;
  /// Every allocation that `wanted` says yes to.
  template <class Wanted>
  std::vector<AllocationPointer> all(Wanted wanted) const {
    std::shared_lock lock(mutex_);
    std::vector<AllocationPointer> found;
    for (const auto& [address, allocation] : by_address_)
      if (wanted(*allocation)) found.push_back(allocation);
    return found;
  }

  /// Changes whenever an allocation goes or someone may touch one no longer (who decides that calls changed()), so that
  /// what a thread remembers of `find` can be known to be old.
  void changed() { generation_.fetch_add(1, std::memory_order_acq_rel); }
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  mutable std::shared_mutex mutex_;
  std::map<std::uintptr_t, AllocationPointer> by_address_;
  std::atomic<std::uint64_t> generation_{1};
};

/// May kernels of the device read, or write, what is in the allocation?
bool may_touch(const Allocation& allocation, int device, bool write);
/// May a kernel of the device do this there? Empty if so, else what is wrong, in words ("beyond the end of ...").
std::string why_not(int device, std::uintptr_t address, std::size_t bytes, bool write);

/// Is all of it memory that is in the table (or none of ours: the host's)?
bool reachable(std::uintptr_t address, std::size_t bytes);

/// Device memory of its own file, as cudaMalloc gives it; throws Failure(cudaErrorMemoryAllocation) beyond the
/// device's capacity. Not waiting for anything, so streams may call it.
AllocationPointer allocate_on_device(int device, std::size_t bytes, Allocation::Kind kind);
/// Host memory that kernels can touch, counted for no device.
AllocationPointer allocate_on_host(int device, std::size_t bytes, Allocation::Kind kind, unsigned flags);
/// The number of a new allocation.
std::uint64_t next_serial();
/// What cudaIpcOpenMemHandle remembers of a device, when it is reset.
void forget_imports_of(int device);
/// Gives back what was taken from the table. What still runs on it is the caller's affair.
void release(const AllocationPointer& allocation);

}  // namespace tutti::emulated
