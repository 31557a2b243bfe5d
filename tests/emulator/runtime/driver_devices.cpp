// The driver's questions about devices and their contexts. A device has one context, which is always there.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>

#include "tests/emulator/runtime/devices.hpp"
#include "tests/emulator/runtime/driver.hpp"
#include "tests/emulator/runtime/settings.hpp"

using namespace tutti::emulated;

namespace {

CUcontext context_of(Device& device) { return reinterpret_cast<CUcontext>(&device); }

Device& device_of(CUcontext context) {
  for (const auto& device : devices())
    if (context_of(*device) == context) return *device;
  throw Failure(cudaErrorDeviceUninitialized);
}

}  // namespace

CUresult cuInit(unsigned flags) {
  return driver_entry([&] {
    require(flags == 0, cudaErrorInvalidValue);
    require(!devices().empty(), cudaErrorNoDevice);
  });
}

CUresult cuDriverGetVersion(int* version) { return driver_code(cudaDriverGetVersion(version)); }

CUresult cuDeviceGetCount(int* count) {
  return driver_entry([&] {
    require(count != nullptr, cudaErrorInvalidValue);
    *count = static_cast<int>(devices().size());
  });
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return driver_entry([&] {
    require(device != nullptr, cudaErrorInvalidValue);
    *device = device_at(ordinal).index();
  });
}

CUresult cuDeviceGetName(char* name, int room, CUdevice device) {
  return driver_entry([&] {
    device_at(device);
    require(name && room > 0, cudaErrorInvalidValue);
    const std::size_t length = std::min(std::strlen(kDeviceName), static_cast<std::size_t>(room - 1));
    std::memcpy(name, kDeviceName, length);
    name[length] = '\0';
  });
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return driver_entry([&] {
    require(uuid != nullptr, cudaErrorInvalidValue);
    const std::string bytes = uuid_of(device_at(device).gpu());
    std::memcpy(uuid->bytes, bytes.data(), sizeof uuid->bytes);
  });
}

CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice device) {
  return driver_entry([&] {
    require(bytes != nullptr, cudaErrorInvalidValue);
    device_at(device);
    *bytes = settings().memory;
  });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return driver_entry([&] {
    require(value != nullptr, cudaErrorInvalidValue);
    device_at(device);
    switch (attribute) {
      case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
      case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED: *value = 1; return;
      case CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED: *value = settings().major >= 9 && settings().peer_access; return;
      case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED:
      case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_HANDLE_SUPPORTED:
      case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED:
      case CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED:
      case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED:
      case CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED: *value = 0; return;
      default: break;
    }
    // The runtime has the rest, by the same numbers.
    const cudaError_t result = cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(attribute), device);
    if (result != cudaSuccess) throw Failure(result);
  });
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  return driver_entry([&] {
    require(context != nullptr, cudaErrorInvalidValue);
    *context = context_of(current_device());
  });
}

CUresult cuCtxSetCurrent(CUcontext context) {
  return driver_entry([&] { set_current_index(device_of(context).index()); });
}

CUresult cuCtxGetDevice(CUdevice* device) {
  return driver_entry([&] {
    require(device != nullptr, cudaErrorInvalidValue);
    *device = current_device().index();
  });
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return driver_entry([&] {
    require(context != nullptr, cudaErrorInvalidValue);
    *context = context_of(device_at(device));
  });
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return driver_entry([&] { device_at(device); });
}
