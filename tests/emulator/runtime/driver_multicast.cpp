// The driver's multicast objects.
#include "tests/emulator/runtime/devices.hpp"
#include "tests/emulator/runtime/driver.hpp"
#include "tests/emulator/runtime/memory.hpp"
#include "tests/emulator/runtime/multicast.hpp"
#include "tests/emulator/runtime/settings.hpp"

using namespace tutti::emulated;

namespace {

void check(const CUmulticastObjectProp* wanted) {
  require(wanted && wanted->numDevices >= 1 && wanted->flags == 0, cudaErrorInvalidValue);
  require(settings().major >= 9 && settings().peer_access, cudaErrorNotSupported);
  require((wanted->handleTypes & ~static_cast<unsigned long long>(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)) == 0,
          cudaErrorNotSupported);
}

std::shared_ptr<Multicast> multicast_of(CUmemGenericAllocationHandle handle) {
  auto multicast = object_of(handle)->multicast;
  require(multicast != nullptr, cudaErrorInvalidValue);
  return multicast;
}

}  // namespace

CUresult cuMulticastGetGranularity(std::size_t* grain, const CUmulticastObjectProp* wanted,
                                   CUmulticastGranularity_flags) {
  return driver_entry([&] {
    require(grain != nullptr, cudaErrorInvalidValue);
    check(wanted);
    *grain = kMemoryGrain;
  });
}

CUresult cuMulticastCreate(CUmemGenericAllocationHandle* handle, const CUmulticastObjectProp* wanted) {
  return driver_entry([&] {
    require(handle != nullptr, cudaErrorInvalidValue);
    check(wanted);
    require(wanted->size != 0 && wanted->size % kMemoryGrain == 0, cudaErrorInvalidValue);
    auto made = std::make_shared<MemoryObject>();
    made->multicast = Multicast::create(wanted->numDevices, wanted->size);
    made->properties.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(wanted->handleTypes);
    made->bytes = wanted->size;
    made->file = made->multicast->file();
    *handle = enter_object(std::move(made));
  });
}

CUresult cuMulticastAddDevice(CUmemGenericAllocationHandle handle, CUdevice device) {
  return driver_entry([&] { multicast_of(handle)->add(device_at(device).gpu()); });
}

CUresult cuMulticastBindMem(CUmemGenericAllocationHandle handle, std::size_t offset,
                            CUmemGenericAllocationHandle memory, std::size_t memory_offset, std::size_t bytes,
                            unsigned long long flags) {
  return driver_entry([&] {
    require(flags == 0, cudaErrorInvalidValue);
    multicast_of(handle)->bind(offset, object_of(memory), memory_offset, bytes);
  });
}

CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle handle, std::size_t offset, CUdeviceptr memory,
                             std::size_t bytes, unsigned long long flags) {
  return driver_entry([&] {
    require(flags == 0, cudaErrorInvalidValue);
    const auto at = static_cast<std::uintptr_t>(memory);
    const auto found = AllocationTable::instance().find(at);
    require(found && found->kind == Allocation::Kind::virtual_map && found->holds(at, bytes), cudaErrorInvalidValue);
    multicast_of(handle)->bind(offset, std::static_pointer_cast<MemoryObject>(found->object),
                               found->file_offset + (at - found->address), bytes);
  });
}

CUresult cuMulticastUnbind(CUmemGenericAllocationHandle handle, CUdevice device, std::size_t offset,
                           std::size_t bytes) {
  return driver_entry([&] { multicast_of(handle)->unbind(device_at(device).gpu(), offset, bytes); });
}
