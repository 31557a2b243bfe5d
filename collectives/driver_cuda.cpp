#include "collectives/driver_cuda.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "collectives/error.hpp"

namespace tutti {
namespace {

/// `interface`: the version of CUDA whose signature `function` has.
template <class F>
void find(const char* name, F& function, unsigned interface = 12000) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult answer = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t result = cudaGetDriverEntryPointByVersion(name, &found, interface, cudaEnableDefault, &answer);
#else
  static_assert(CUDART_VERSION >= 12010);
  const cudaError_t result = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &answer);
#endif
  if (result != cudaSuccess || answer != cudaDriverEntryPointSuccess || !found) {
    cudaGetLastError();
    throw Error(ErrorCode::unsupported, fmt::format("this GPU driver has no {}; update it", name));
  }
  function = reinterpret_cast<F>(found);
}

Driver look_up() {
  Driver d{};
  find("cuGetErrorString", d.get_error_string);
  find("cuDeviceGetAttribute", d.device_get_attribute);
  find("cuPointerGetAttribute", d.pointer_get_attribute);
  find("cuMemGetAddressRange", d.mem_get_address_range);
  find("cuMemGetAllocationGranularity", d.mem_get_allocation_granularity);
  find("cuMemCreate", d.mem_create);
  find("cuMemRelease", d.mem_release);
  find("cuMemAddressReserve", d.mem_address_reserve);
  find("cuMemAddressFree", d.mem_address_free);
  find("cuMemMap", d.mem_map);
  find("cuMemUnmap", d.mem_unmap);
  find("cuMemSetAccess", d.mem_set_access);
  find("cuMemRetainAllocationHandle", d.mem_retain_allocation_handle);
  find("cuMemExportToShareableHandle", d.mem_export_to_shareable_handle);
  find("cuMemImportFromShareableHandle", d.mem_import_from_shareable_handle);
  try {
    constexpr unsigned kMulticast = 12010;
    find("cuMulticastGetGranularity", d.multicast_get_granularity, kMulticast);
    find("cuMulticastCreate", d.multicast_create, kMulticast);
    find("cuMulticastAddDevice", d.multicast_add_device, kMulticast);
    find("cuMulticastBindMem", d.multicast_bind_mem, kMulticast);
    find("cuMulticastUnbind", d.multicast_unbind, kMulticast);
  } catch (const Error&) {  // then there is none
  }
  return d;
}

}  // namespace

const Driver& driver() {
  static const Driver once = look_up();  // tried again at the next call if it threw
  return once;
}

void check_driver(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  const char* why = nullptr;
  driver().get_error_string(result, &why);
  throw Error(ErrorCode::system, fmt::format("{}: {}", call, why ? why : "an unknown error"));
}

}  // namespace tutti
