// The few functions of the GPU's driver that the runtime does not have, found through the runtime.
#pragma once
#include <cuda.h>

namespace tutti {

struct Driver {
  decltype(&cuGetErrorString) get_error_string;
  decltype(&cuDeviceGetAttribute) device_get_attribute;
  decltype(&cuPointerGetAttribute) pointer_get_attribute;
  decltype(&cuMemGetAddressRange) mem_get_address_range;
  decltype(&cuMemGetAllocationGranularity) mem_get_allocation_granularity;
  decltype(&cuMemCreate) mem_create;
  decltype(&cuMemRelease) mem_release;
  decltype(&cuMemAddressReserve) mem_address_reserve;
  decltype(&cuMemAddressFree) mem_address_free;
  decltype(&cuMemMap) mem_map;
  decltype(&cuMemUnmap) mem_unmap;
  decltype(&cuMemSetAccess) mem_set_access;
  decltype(&cuMemRetainAllocationHandle) mem_retain_allocation_handle;
  decltype(&cuMemExportToShareableHandle) mem_export_to_shareable_handle;
  decltype(&cuMemImportFromShareableHandle) mem_import_from_shareable_handle;
  // Of CUDA 12.1; all null with an older driver.
  decltype(&cuMulticastGetGranularity) multicast_get_granularity;
  decltype(&cuMulticastCreate) multicast_create;
  decltype(&cuMulticastAddDevice) multicast_add_device;
  decltype(&cuMulticastBindMem) multicast_bind_mem;
  decltype(&cuMulticastUnbind) multicast_unbind;
  bool has_multicast() const { return multicast_unbind != nullptr; }
};

/// Found at the first call. Throws ErrorCode::unsupported, naming the function, if the driver lacks one.
const Driver& driver();

/// Throws ErrorCode::system, saying which call failed and why.
void check_driver(CUresult result, const char* call);

}  // namespace tutti
