#include <algorithm>
#include <cstring>

#include "tests/emulator/runtime/entry.hpp"
#include "tests/emulator/runtime/faults.hpp"
#include "tests/emulator/runtime/memory.hpp"
#include "tests/emulator/runtime/settings.hpp"

namespace {

using namespace tutti::emulated;
using Kind = Allocation::Kind;

constexpr std::size_t kPitch = 512;

std::uintptr_t number(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }
void* pointer(std::uintptr_t number) { return reinterpret_cast<void*>(number); }

void* allocate(Device& device, std::size_t bytes) {
  count(FaultPoint::allocation);
  return bytes == 0 ? nullptr : pointer(allocate_on_device(device.index(), bytes, Kind::device)->address);
}

void* allocate_host(Device& device, std::size_t bytes, unsigned flags, Kind kind) {
  count(FaultPoint::allocation);
  return bytes == 0 ? nullptr : pointer(allocate_on_host(device.index(), bytes, kind, flags)->address);
}

/// The allocation that begins there, if it is of one of the kinds.
AllocationPointer expect(const void* at, std::initializer_list<Kind> kinds, cudaError_t otherwise) {
  AllocationPointer found = AllocationTable::instance().find(number(at));
  require(found && found->address == number(at) && std::ranges::find(kinds, found->kind) != kinds.end(), otherwise);
  return found;
}

void take_away(const AllocationPointer& allocation) {
  if (AllocationTable::instance().remove(allocation->address)) release(allocation);
}

}  // namespace

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  return entry(
      [&](Device& device) {
        require(memory != nullptr, cudaErrorInvalidValue);
        *memory = allocate(device, bytes);
      },
      WhileCapturing::unsafe);
}

cudaError_t cudaMallocPitch(void** memory, std::size_t* pitch, std::size_t width, std::size_t height) {
  return entry(
      [&](Device& device) {
        require(memory != nullptr && pitch != nullptr, cudaErrorInvalidValue);
        *pitch = (width + kPitch - 1) / kPitch * kPitch;
        *memory = allocate(device, *pitch * height);
      },
      WhileCapturing::unsafe);
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* memory, cudaExtent extent) {
  if (!memory) return noted(cudaErrorInvalidValue);
  void* place = nullptr;
  std::size_t pitch = 0;
  const cudaError_t result = cudaMallocPitch(&place, &pitch, extent.width, extent.height * extent.depth);
  if (result == cudaSuccess) *memory = {place, pitch, extent.width, extent.height};
  return result;
}

cudaError_t cudaFree(void* memory) {
  return entry(
      [&](Device&) {
        if (!memory) return;
        const auto allocation = expect(memory, {Kind::device, Kind::pool, Kind::managed}, cudaErrorInvalidValue);
        device_at(allocation->device).synchronize();
        take_away(allocation);
      },
      WhileCapturing::unsafe);
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return entry([&](Device& device) {
    if (free) *free = device.free_bytes();
    if (total) *total = settings().memory;
  });
}

cudaError_t cudaMallocManaged(void** memory, std::size_t bytes, unsigned flags) {
  return entry(
      [&](Device& device) {
        require(memory != nullptr && bytes != 0, cudaErrorInvalidValue);
        require(flags == cudaMemAttachGlobal || flags == cudaMemAttachHost, cudaErrorInvalidValue);
        *memory = allocate_host(device, bytes, flags, Kind::managed);
      },
      WhileCapturing::unsafe);
}

// ---- Host memory
// -----------------------------------------------------------------------------------------------------

cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned flags) {
  return entry(
      [&](Device& device) {
        constexpr unsigned known = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
        require(memory != nullptr && (flags & ~known) == 0, cudaErrorInvalidValue);
        *memory = allocate_host(device, bytes, flags, Kind::pinned);
      },
      WhileCapturing::unsafe);
}

cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  return cudaHostAlloc(memory, bytes, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void* memory) {
  return entry(
      [&](Device&) {
        if (!memory) return;
        const auto allocation = expect(memory, {Kind::pinned}, cudaErrorInvalidValue);
        for (const auto& device : devices()) device->synchronize();
        take_away(allocation);
      },
      WhileCapturing::unsafe);
}

cudaError_t cudaHostRegister(void* memory, std::size_t bytes, unsigned flags) {
  return entry(
      [&](Device& device) {
        constexpr unsigned known = cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterReadOnly;
        require(memory != nullptr && bytes != 0 && (flags & ~known) == 0, cudaErrorInvalidValue);
        require(!AddressSpace::instance().contains(number(memory)), cudaErrorInvalidValue);
        const auto overlapping = AllocationTable::instance().all([&](const Allocation& other) {
          return other.address < number(memory) + bytes && number(memory) < other.address + other.bytes;
        });
        require(overlapping.empty(), cudaErrorHostMemoryAlreadyRegistered);
        auto made = std::make_shared<Allocation>();
        made->kind = Kind::registered;
        made->address = number(memory);
        made->bytes = bytes;
        made->device = device.index();
        made->flags = flags;
        made->serial = next_serial();
        AllocationTable::instance().insert(std::move(made));
      },
      WhileCapturing::unsafe);
}

cudaError_t cudaHostUnregister(void* memory) {
  return entry(
      [&](Device&) {
        const auto allocation = expect(memory, {Kind::registered}, cudaErrorHostMemoryNotRegistered);
        for (const auto& device : devices()) device->synchronize();
        take_away(allocation);
      },
      WhileCapturing::unsafe);
}

cudaError_t cudaHostGetDevicePointer(void** on_device, void* on_host, unsigned flags) {
  return entry([&](Device&) {
    require(on_device != nullptr && flags == 0, cudaErrorInvalidValue);
    const auto found = AllocationTable::instance().find(number(on_host));
    require(found && found->on_host(), cudaErrorInvalidValue);
    *on_device = on_host;
  });
}

cudaError_t cudaHostGetFlags(unsigned* flags, void* memory) {
  return entry([&](Device&) {
    const auto found = AllocationTable::instance().find(number(memory));
    require(flags != nullptr && found && (found->kind == Kind::pinned || found->kind == Kind::registered),
            cudaErrorInvalidValue);
    *flags = found->flags | cudaHostAllocMapped;  // with unified addresses all of it is
  });
}

// ---- Questions
// -------------------------------------------------------------------------------------------------------

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* memory) {
  return entry([&](Device&) {
    require(attributes != nullptr, cudaErrorInvalidValue);
    *attributes = {};
    const auto found = AllocationTable::instance().find(number(memory));
    if (!found) {
      require(!AddressSpace::instance().contains(number(memory)), cudaErrorInvalidValue);
      attributes->type = cudaMemoryTypeUnregistered;
      attributes->device = cudaInvalidDeviceId;
      return;
    }
    attributes->type = found->kind == Kind::managed ? cudaMemoryTypeManaged
                       : found->on_host()           ? cudaMemoryTypeHost
                                                    : cudaMemoryTypeDevice;
    attributes->device = found->device;
    attributes->devicePointer = const_cast<void*>(memory);
    attributes->hostPointer = found->on_host() ? const_cast<void*>(memory) : nullptr;
  });
}
