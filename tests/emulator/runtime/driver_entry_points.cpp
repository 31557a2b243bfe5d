// Finds entry points of the driver by name. A real driver is never looked for: its answers would not fit ours.
#include <algorithm>
#include <string_view>

#include "tests/emulator/runtime/driver.hpp"
#include "tests/emulator/runtime/entry.hpp"

namespace tutti::emulated {
namespace {

struct EntryPoint {
  std::string_view name;
  void* function;
};

template <class F>
EntryPoint point(std::string_view name, F* function) {
  return {name, reinterpret_cast<void*>(function)};
}

/// By the names that programs give, which lack the version that the header adds. All have the signature that they have
/// had since CUDA 12.0 at least.
const EntryPoint* find(std::string_view name) {
  static const EntryPoint all[] = {
      point("cuCtxGetCurrent", cuCtxGetCurrent),
      point("cuCtxGetDevice", cuCtxGetDevice),
      point("cuCtxSetCurrent", cuCtxSetCurrent),
      point("cuDeviceGet", cuDeviceGet),
      point("cuDeviceGetAttribute", cuDeviceGetAttribute),
      point("cuDeviceGetCount", cuDeviceGetCount),
      point("cuDeviceGetName", cuDeviceGetName),
      point("cuDeviceGetUuid", cuDeviceGetUuid),
      point("cuDevicePrimaryCtxRelease", cuDevicePrimaryCtxRelease),
      point("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain),
      point("cuDeviceTotalMem", cuDeviceTotalMem),
      point("cuDriverGetVersion", cuDriverGetVersion),
      point("cuGetErrorName", cuGetErrorName),
      point("cuGetErrorString", cuGetErrorString),
      point("cuInit", cuInit),
      point("cuMemAddressFree", cuMemAddressFree),
      point("cuMemAddressReserve", cuMemAddressReserve),
      point("cuMemCreate", cuMemCreate),
      point("cuMemExportToShareableHandle", cuMemExportToShareableHandle),
      point("cuMemGetAccess", cuMemGetAccess),
      point("cuMemGetAddressRange", cuMemGetAddressRange),
      point("cuMemGetAllocationGranularity", cuMemGetAllocationGranularity),
      point("cuMemGetAllocationPropertiesFromHandle", cuMemGetAllocationPropertiesFromHandle),
      point("cuMemImportFromShareableHandle", cuMemImportFromShareableHandle),
      point("cuMemMap", cuMemMap),
      point("cuMemRelease", cuMemRelease),
      point("cuMemRetainAllocationHandle", cuMemRetainAllocationHandle),
      point("cuMemSetAccess", cuMemSetAccess),
      point("cuMemUnmap", cuMemUnmap),
      point("cuMulticastAddDevice", cuMulticastAddDevice),
      point("cuMulticastBindAddr", cuMulticastBindAddr),
      point("cuMulticastBindMem", cuMulticastBindMem),
      point("cuMulticastCreate", cuMulticastCreate),
      point("cuMulticastGetGranularity", cuMulticastGetGranularity),
      point("cuMulticastUnbind", cuMulticastUnbind),
      point("cuPointerGetAttribute", cuPointerGetAttribute),
  };
  const EntryPoint* const found = std::ranges::find(all, name, &EntryPoint::name);
  return found == std::end(all) ? nullptr : found;
}

cudaError_t entry_point(const char* name, void** function, unsigned long long flags,
                        cudaDriverEntryPointQueryResult* answer) {
  return entry_without_device([&] {
    constexpr unsigned long long kKnown = cudaEnableLegacyStream | cudaEnablePerThreadDefaultStream;
    require(name && function && (flags & ~kKnown) == 0, cudaErrorInvalidValue);
    const EntryPoint* const found = find(name);
    *function = found ? found->function : nullptr;
    if (answer) *answer = found ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    if (!answer) require(found != nullptr, cudaErrorSymbolNotFound);
  });
}

}  // namespace
}  // namespace tutti::emulated

using namespace tutti::emulated;

cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* answer) {
  return entry_point(name, function, flags, answer);
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned, unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* answer) {
  return entry_point(name, function, flags, answer);
}

extern "C" {
cudaError_t cudaGetDriverEntryPoint_ptsz(const char* name, void** function, unsigned long long flags,
                                         cudaDriverEntryPointQueryResult* answer) {
  return entry_point(name, function, flags, answer);
}
cudaError_t cudaGetDriverEntryPointByVersion_ptsz(const char* name, void** function, unsigned, unsigned long long flags,
                                                  cudaDriverEntryPointQueryResult* answer) {
  return entry_point(name, function, flags, answer);
}
}
