// Memory in the order of streams.
#include <algorithm>
#include <vector>

#include "tests/emulator/runtime/entry.hpp"
#include "tests/emulator/runtime/faults.hpp"
#include "tests/emulator/runtime/pools.hpp"

namespace {

using namespace tutti::emulated;

struct Pools {
  std::mutex mutex;
  std::vector<std::shared_ptr<MemoryPool>> made;     ///< by cudaMemPoolCreate
  std::vector<std::shared_ptr<MemoryPool>> first;    ///< of each device
  std::vector<std::shared_ptr<MemoryPool>> current;  ///< of each device
};

/// Locked by who uses it.
Pools& pools() {
  static Pools* const all = [] {
    auto* made = new Pools;
    for (const auto& device : devices()) made->first.push_back(std::make_shared<MemoryPool>(device->index()));
    made->current = made->first;
    return made;
  }();
  return *all;
}

cudaMemPool_t name_of(const std::shared_ptr<MemoryPool>& pool) { return reinterpret_cast<cudaMemPool_t>(pool.get()); }

std::shared_ptr<MemoryPool> pool_of(cudaMemPool_t handle) {
  Pools& all = pools();
  std::lock_guard lock(all.mutex);
  for (const auto* list : {&all.made, &all.first})
    for (const auto& pool : *list)
      if (name_of(pool) == handle) return pool;
  throw Failure(cudaErrorInvalidValue);
}

std::shared_ptr<MemoryPool> first_pool(int device) {
  device_at(device);
  return pools().first[static_cast<std::size_t>(device)];
}

int device_of(const cudaMemLocation& location) {
  require(location.type == cudaMemLocationTypeDevice, cudaErrorNotSupported);
  return device_at(location.id).index();
}

void allocate(void** memory, std::size_t bytes, const std::shared_ptr<MemoryPool>& pool,
              const std::shared_ptr<Stream>& stream) {
  require(memory != nullptr, cudaErrorInvalidValue);
  if (stream->capture()) give_up("cudaMallocAsync while the stream is captured, which the emulator does not have");
  count(FaultPoint::allocation);
  *memory = bytes == 0 ? nullptr : reinterpret_cast<void*>(allocate_from(pool, bytes)->address);
}

template <class Integer>
Integer& as(void* value) {
  require(value != nullptr, cudaErrorInvalidValue);
  return *static_cast<Integer*>(value);
}

}  // namespace

namespace tutti::emulated {

std::shared_ptr<MemoryPool> current_pool(int device) {
  Pools& all = pools();
  std::lock_guard lock(all.mutex);
  return all.current[static_cast<std::size_t>(device)];
}

}  // namespace tutti::emulated

cudaError_t cudaMallocAsync(void** memory, std::size_t bytes, cudaStream_t handle) {
  return entry([&](Device&) {
    const auto stream = stream_of(handle);
    allocate(memory, bytes, current_pool(stream->device().index()), stream);
  });
}

cudaError_t cudaMallocFromPoolAsync(void** memory, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  return entry([&](Device&) { allocate(memory, bytes, pool_of(pool), stream_of(stream)); });
}

cudaError_t cudaFreeAsync(void* memory, cudaStream_t handle) {
  return entry([&](Device&) {
    if (!memory) return;
    const auto stream = stream_of(handle);
    if (stream->capture()) give_up("cudaFreeAsync while the stream is captured, which the emulator does not have");
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    const auto found = AllocationTable::instance().find(address);
    require(found && found->address == address, cudaErrorInvalidValue);
    require(found->kind == Allocation::Kind::pool || found->kind == Allocation::Kind::device, cudaErrorInvalidValue);
    submit(stream, Task{[address](Device&) {
                          if (const auto freed = AllocationTable::instance().remove(address)) release(freed);
                        },
                        "cudaFreeAsync"});
  });
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return entry([&](Device&) { *pool = name_of(first_pool(device)); });
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return entry([&](Device&) { *pool = name_of(current_pool(device_at(device).index())); });
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  return entry([&](Device&) {
    const auto wanted = pool_of(pool);
    require(wanted->device() == device_at(device).index(), cudaErrorInvalidValue);
    Pools& all = pools();
    std::lock_guard lock(all.mutex);
    all.current[static_cast<std::size_t>(device)] = wanted;
  });
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  return entry([&](Device&) {
    require(pool != nullptr && properties != nullptr, cudaErrorInvalidValue);
    require(properties->allocType == cudaMemAllocationTypePinned, cudaErrorInvalidValue);
    require(properties->handleTypes == cudaMemHandleTypeNone, cudaErrorNotSupported);
    const auto made = std::make_shared<MemoryPool>(device_of(properties->location));
    Pools& all = pools();
    std::lock_guard lock(all.mutex);
    all.made.push_back(made);
    *pool = name_of(made);
  });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t handle) {
  return entry([&](Device&) {
    const auto pool = pool_of(handle);
    Pools& all = pools();
    std::lock_guard lock(all.mutex);
    require(std::erase(all.made, pool) != 0, cudaErrorInvalidValue);
    auto& current = all.current[static_cast<std::size_t>(pool->device())];
    if (current == pool) current = all.first[static_cast<std::size_t>(pool->device())];
  });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t) {
  return entry([&](Device&) { pool_of(pool); });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  return entry([&](Device&) {
    const auto pool = pool_of(handle);
    switch (attribute) {
      case cudaMemPoolReuseFollowEventDependencies: pool->reuse_follows_events = as<int>(value); return;
      case cudaMemPoolReuseAllowOpportunistic: pool->reuse_when_possible = as<int>(value); return;
      case cudaMemPoolReuseAllowInternalDependencies: pool->reuse_adds_dependencies = as<int>(value); return;
      case cudaMemPoolAttrReleaseThreshold: pool->release_threshold = as<std::uint64_t>(value); return;
      case cudaMemPoolAttrReservedMemHigh:
      case cudaMemPoolAttrUsedMemHigh:
        require(as<std::uint64_t>(value) == 0, cudaErrorInvalidValue);
        pool->reset_high();
        return;
      default: throw Failure(cudaErrorInvalidValue);
    }
  });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  return entry([&](Device&) {
    const auto pool = pool_of(handle);
    switch (attribute) {
      case cudaMemPoolReuseFollowEventDependencies: as<int>(value) = pool->reuse_follows_events; return;
      case cudaMemPoolReuseAllowOpportunistic: as<int>(value) = pool->reuse_when_possible; return;
      case cudaMemPoolReuseAllowInternalDependencies: as<int>(value) = pool->reuse_adds_dependencies; return;
      case cudaMemPoolAttrReleaseThreshold: as<std::uint64_t>(value) = pool->release_threshold; return;
      case cudaMemPoolAttrReservedMemCurrent:
      case cudaMemPoolAttrUsedMemCurrent: as<std::uint64_t>(value) = pool->used(); return;
      case cudaMemPoolAttrReservedMemHigh:
      case cudaMemPoolAttrUsedMemHigh: as<std::uint64_t>(value) = pool->used_high(); return;
      default: throw Failure(cudaErrorInvalidValue);
    }
  });
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t handle, const cudaMemAccessDesc* wanted, std::size_t count) {
  return entry([&](Device&) {
    const auto pool = pool_of(handle);
    require(wanted != nullptr || count == 0, cudaErrorInvalidValue);
    for (std::size_t i = 0; i < count; ++i) {
      const int device = device_of(wanted[i].location);
      // Its own device may always.
      require(device != pool->device() || wanted[i].flags == cudaMemAccessFlagsProtReadWrite, cudaErrorInvalidDevice);
      pool->set_access(device, (wanted[i].flags & cudaMemAccessFlagsProtRead) != 0,
                       wanted[i].flags == cudaMemAccessFlagsProtReadWrite);
    }
  });
}

cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t handle, cudaMemLocation* location) {
  return entry([&](Device&) {
    require(flags != nullptr && location != nullptr, cudaErrorInvalidValue);
    const auto pool = pool_of(handle);
    const int device = device_of(*location);
    const bool own = device == pool->device();
    const bool writes = own || (pool->writers() >> device & 1) != 0;
    const bool reads = writes || (pool->readers() >> device & 1) != 0;
    *flags = writes ? cudaMemAccessFlagsProtReadWrite : reads ? cudaMemAccessFlagsProtRead : cudaMemAccessFlagsProtNone;
  });
}

extern "C" {

cudaError_t cudaMallocAsync_ptsz(void** memory, std::size_t bytes, cudaStream_t stream) {
  return cudaMallocAsync(memory, bytes, per_thread(stream));
}
cudaError_t cudaMallocFromPoolAsync_ptsz(void** memory, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  return cudaMallocFromPoolAsync(memory, bytes, pool, per_thread(stream));
}
cudaError_t cudaFreeAsync_ptsz(void* memory, cudaStream_t stream) { return cudaFreeAsync(memory, per_thread(stream)); }

}  // extern "C"
