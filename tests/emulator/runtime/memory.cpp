#include "tests/emulator/runtime/memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "tests/emulator/runtime/devices.hpp"
#include "tests/emulator/runtime/errors.hpp"
#include "tests/emulator/runtime/pools.hpp"

namespace tutti::emulated {
namespace {

using Kind = Allocation::Kind;

/// New memory is not zero, as on a real machine; beyond this much filling it would take too long.
constexpr std::size_t kFilled = std::size_t{1} << 20;
constexpr int kFiller = 0xcd;

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::device: return "cudaMalloc";
    case Kind::pool: return "stream-ordered memory";
    case Kind::imported: return "memory of another process";
    case Kind::virtual_map: return "virtual memory";
    case Kind::multicast: return "multicast memory";
    case Kind::variable: return "a variable";
    case Kind::pinned: return "host memory";
    case Kind::registered: return "registered host memory";
    case Kind::managed: return "managed memory";
  }
  return "memory";
}

}  // namespace

AllocationTable& AllocationTable::instance() {
  static AllocationTable* const only = new AllocationTable;
  return *only;
}

void AllocationTable::insert(AllocationPointer allocation) {
  std::unique_lock lock(mutex_);
  by_address_[allocation->address] = std::move(allocation);
}

AllocationPointer AllocationTable::remove(std::uintptr_t address) {
  std::unique_lock lock(mutex_);
  const auto found = by_address_.find(address);
  if (found == by_address_.end()) return nullptr;
  AllocationPointer allocation = found->second;
  by_address_.erase(found);
  generation_.fetch_add(1, std::memory_order_acq_rel);
  return allocation;
}

AllocationPointer AllocationTable::find(std::uintptr_t address) const {
  std::shared_lock lock(mutex_);
  auto next = by_address_.upper_bound(address);
  if (next == by_address_.begin()) return nullptr;
  const AllocationPointer& allocation = (--next)->second;
  return allocation->holds(address, 0) ? allocation : nullptr;
}

AllocationPointer AllocationTable::find_before(std::uintptr_t address) const {
  std::shared_lock lock(mutex_);
  auto next = by_address_.upper_bound(address);
  return next == by_address_.begin() ? nullptr : std::prev(next)->second;
}

bool may_touch(const Allocation& allocation, int device, bool write) {
  const std::uint64_t bit = std::uint64_t{1} << device;
  switch (allocation.kind) {
    case Kind::device:
    case Kind::pool:
    case Kind::variable:
      if (allocation.device == device) return true;
      return (devices()[static_cast<std::size_t>(device)]->peers() >> allocation.device & 1) != 0 ||
             ((write ? allocation.may_write : allocation.may_read) & bit) != 0;
    case Kind::imported: return allocation.device == device;
    case Kind::multicast:
    case Kind::virtual_map: return ((write ? allocation.may_write : allocation.may_read) & bit) != 0;
    case Kind::registered: return !write || !(allocation.flags & cudaHostRegisterReadOnly);
    case Kind::pinned:
    case Kind::managed: return true;
  }
  return false;
}

std::string why_not(int device, std::uintptr_t address, std::size_t bytes, bool write) {
  const AllocationTable& table = AllocationTable::instance();
  const AllocationPointer found = table.find(address);
  if (!found) {
    const AllocationPointer before = table.find_before(address);
    if (before && address - before->address - before->bytes < AddressSpace::kGranularity)
      return fmt::format("{} bytes beyond the end of {} bytes ({}, device {})",
                         address - before->address - before->bytes, before->bytes, name_of(before->kind),
                         before->device);
    return "no memory that a kernel can reach";
  }
  if (!found->holds(address, bytes))
    return fmt::format("beyond the end: byte {} of {} ({}, device {})", address - found->address, found->bytes,
                       name_of(found->kind), found->device);
  if (!may_touch(*found, device, write))
    return fmt::format("{} of device {}, which device {} may not {}", name_of(found->kind), found->device, device,
                       write ? "write" : "read");
  return {};
}

bool reachable(std::uintptr_t address, std::size_t bytes) {
  if (!AddressSpace::instance().contains(address)) {
    const AllocationPointer found = AllocationTable::instance().find(address);
    return !found || found->holds(address, bytes);
  }
  // A range of virtual memory may consist of several mappings, one behind the other.
  do {
    const AllocationPointer found = AllocationTable::instance().find(address);
    if (!found || found->kind == Kind::multicast) return false;
    const std::size_t here = std::min(bytes, found->bytes - (address - found->address));
    if (here < bytes && found->kind != Kind::virtual_map) return false;
    address += here;
    bytes -= here;
  } while (bytes != 0);
  return true;
}

std::uint64_t next_serial() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

AllocationPointer allocate_on_device(int device, std::size_t bytes, Kind kind) {
  Device& owner = device_at(device);
  if (!owner.take(bytes)) throw Failure(cudaErrorMemoryAllocation);
  auto made = std::make_shared<Allocation>();
  AddressSpace& space = AddressSpace::instance();
  try {
    made->kind = kind;
    made->bytes = bytes;
    made->device = device;
    made->serial = next_serial();
    made->file = std::make_shared<MemoryFile>(bytes);
    made->address = space.reserve(bytes);
    space.map(made->address, bytes, made->file->file(), 0);
  } catch (...) {
    if (made->address) space.release(made->address, bytes);
    owner.give(bytes);
    throw;
  }
  std::memset(space.host_view(made->address), kFiller, std::min(bytes, kFilled));
  AllocationTable::instance().insert(made);
  return made;
}

AllocationPointer allocate_on_host(int device, std::size_t bytes, Kind kind, unsigned flags) {
  void* place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) throw Failure(cudaErrorMemoryAllocation);
  auto made = std::make_shared<Allocation>();
  made->kind = kind;
  made->address = reinterpret_cast<std::uintptr_t>(place);
  made->bytes = bytes;
  made->device = device;
  made->flags = flags;
  made->serial = next_serial();
  std::memset(place, kFiller, std::min(bytes, kFilled));
  AllocationTable::instance().insert(made);
  return made;
}

void release(const AllocationPointer& allocation) {
  if (allocation->pool) allocation->pool->subtract(allocation->bytes);
  switch (allocation->kind) {
    case Kind::device:
    case Kind::pool:
    case Kind::variable: device_at(allocation->device).give(allocation->bytes); [[fallthrough]];
    case Kind::imported:
      AddressSpace::instance().unmap(allocation->address, allocation->bytes);
      AddressSpace::instance().release(allocation->address, allocation->bytes);
      break;
    case Kind::pinned:
    case Kind::managed: munmap(reinterpret_cast<void*>(allocation->address), allocation->bytes); break;
    case Kind::registered:
    case Kind::multicast:
    case Kind::virtual_map: break;
  }
}

}  // namespace tutti::emulated
