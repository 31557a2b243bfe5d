// What the driver tells of a pointer.
#include <cstring>

#include "tests/emulator/runtime/devices.hpp"
#include "tests/emulator/runtime/driver.hpp"
#include "tests/emulator/runtime/memory.hpp"

using namespace tutti::emulated;
using Kind = Allocation::Kind;

namespace {

template <class T>
void give(void* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

void give_attribute(const Allocation& found, CUdeviceptr pointer, CUpointer_attribute attribute, void* to) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: return give(to, reinterpret_cast<CUcontext>(&device_at(found.device)));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return give(to, found.on_host() && found.kind != Kind::managed ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: return give(to, pointer);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER: require(found.on_host(), cudaErrorInvalidValue); return give(to, pointer);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: return give(to, static_cast<unsigned long long>(found.serial));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: return give(to, static_cast<unsigned>(found.kind == Kind::managed));
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return give(to, found.device);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE: return give(to, static_cast<int>(found.kind == Kind::device));
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: return give(to, static_cast<CUdeviceptr>(found.address));
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return give(to, found.bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED: return give(to, 1);
    default: throw Failure(cudaErrorNotSupported);
  }
}

AllocationPointer allocation_at(CUdeviceptr pointer) {
  AllocationPointer found = AllocationTable::instance().find(static_cast<std::uintptr_t>(pointer));
  require(found != nullptr, cudaErrorInvalidValue);
  return found;
}

}  // namespace

CUresult cuPointerGetAttribute(void* to, CUpointer_attribute attribute, CUdeviceptr pointer) {
  return driver_entry([&] {
    require(to != nullptr, cudaErrorInvalidValue);
    give_attribute(*allocation_at(pointer), pointer, attribute, to);
  });
}

CUresult cuMemGetAddressRange(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr pointer) {
  return driver_entry([&] {
    const AllocationPointer found = allocation_at(pointer);
    if (base) *base = found->address;
    if (bytes) *bytes = found->bytes;
  });
}
