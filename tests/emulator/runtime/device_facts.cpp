#include "tests/emulator/runtime/device_facts.hpp"

#include <fmt/format.h>

#include <cstring>
#include <limits>

#include "tests/emulator/runtime/devices.hpp"
#include "tests/emulator/runtime/entry.hpp"
#include "tests/emulator/runtime/limits.hpp"
#include "tests/emulator/runtime/settings.hpp"

namespace tutti::emulated {
namespace {

constexpr int kConstantBytes = 64 << 10;
constexpr int kMostPitch = std::numeric_limits<int>::max();
constexpr int kTextureAlignment = 512, kTexturePitchAlignment = 32;
constexpr int kCopyEngines = 3;
// Of an H100 SXM; nothing here depends on them.
constexpr int kBusBits = 5120, kClockKilohertz = 1'980'000, kMemoryClockKilohertz = 2'619'000;
constexpr int kCacheBytes = 50 << 20;
constexpr unsigned kPciDevice = 0x233010de;

void copy(int (&to)[3], dim3 from) {
  to[0] = static_cast<int>(from.x);
  to[1] = static_cast<int>(from.y);
  to[2] = static_cast<int>(from.z);
}

}  // namespace

cudaDeviceProp properties_of(const Device& device) {
  const Settings& machine = settings();
  const MultiprocessorLimits limits = multiprocessor_limits(machine.major, machine.minor);
  cudaDeviceProp p{};
  std::strncpy(p.name, kDeviceName, sizeof p.name - 1);
  std::memcpy(p.uuid.bytes, uuid_of(device.gpu()).data(), sizeof p.uuid.bytes);
  p.totalGlobalMem = machine.memory;
  p.sharedMemPerBlock = kSharedPerBlock;
  p.regsPerBlock = limits.registers;
  p.warpSize = kWarpSize;
  p.memPitch = kMostPitch;
  p.maxThreadsPerBlock = kMostThreadsPerBlock;
  copy(p.maxThreadsDim, kMostThreads);
  copy(p.maxGridSize, kMostBlocks);
  p.totalConstMem = kConstantBytes;
  p.major = machine.major;
  p.minor = machine.minor;
  p.textureAlignment = kTextureAlignment;
  p.texturePitchAlignment = kTexturePitchAlignment;
  p.multiProcessorCount = machine.multiprocessors;
  p.canMapHostMemory = 1;
  p.surfaceAlignment = kTextureAlignment;
  p.concurrentKernels = 1;
  p.ECCEnabled = 1;
  p.pciBusID = device.gpu() + 1;
  p.tccDriver = 0;
  p.asyncEngineCount = kCopyEngines;
  p.unifiedAddressing = 1;
  p.memoryBusWidth = kBusBits;
  p.l2CacheSize = kCacheBytes;
  p.maxThreadsPerMultiProcessor = limits.threads;
  p.streamPrioritiesSupported = 1;
  p.globalL1CacheSupported = 1;
  p.localL1CacheSupported = 1;
  p.sharedMemPerMultiprocessor = static_cast<std::size_t>(limits.shared);
  p.regsPerMultiprocessor = limits.registers;
  p.managedMemory = 1;
  p.multiGpuBoardGroupID = device.gpu();
  p.concurrentManagedAccess = 1;
  p.computePreemptionSupported = 1;
  p.canUseHostPointerForRegisteredMem = 1;
  p.cooperativeLaunch = 1;
  p.sharedMemPerBlockOptin = static_cast<std::size_t>(limits.shared_per_block);
  p.maxBlocksPerMultiProcessor = limits.blocks;
  p.reservedSharedMemPerBlock = static_cast<std::size_t>(limits.shared_reserved_per_block);
  p.hostRegisterSupported = 1;
  p.hostRegisterReadOnlySupported = 1;
  p.memoryPoolsSupported = 1;
  p.ipcEventSupported = 1;
  p.unifiedFunctionPointers = 1;
  p.hostNumaId = -1;
  p.gpuPciDeviceID = kPciDevice;
  return p;
}

std::optional<int> attribute_of(const Device& device, cudaDeviceAttr attribute) {
  const cudaDeviceProp p = properties_of(device);
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: return p.maxThreadsPerBlock;
    case cudaDevAttrMaxBlockDimX: return p.maxThreadsDim[0];
    case cudaDevAttrMaxBlockDimY: return p.maxThreadsDim[1];
    case cudaDevAttrMaxBlockDimZ: return p.maxThreadsDim[2];
    case cudaDevAttrMaxGridDimX: return p.maxGridSize[0];
    case cudaDevAttrMaxGridDimY: return p.maxGridSize[1];
    case cudaDevAttrMaxGridDimZ: return p.maxGridSize[2];
    case cudaDevAttrMaxSharedMemoryPerBlock: return static_cast<int>(p.sharedMemPerBlock);
    case cudaDevAttrTotalConstantMemory: return static_cast<int>(p.totalConstMem);
    case cudaDevAttrWarpSize: return p.warpSize;
    case cudaDevAttrMaxPitch: return kMostPitch;
    case cudaDevAttrMaxRegistersPerBlock: return p.regsPerBlock;
    case cudaDevAttrClockRate: return kClockKilohertz;
    case cudaDevAttrTextureAlignment: return kTextureAlignment;
    case cudaDevAttrTexturePitchAlignment: return kTexturePitchAlignment;
    case cudaDevAttrSurfaceAlignment: return kTextureAlignment;
    case cudaDevAttrGpuOverlap: return 1;
    case cudaDevAttrMultiProcessorCount: return p.multiProcessorCount;
    case cudaDevAttrKernelExecTimeout: return 0;
    case cudaDevAttrIntegrated: return 0;
    case cudaDevAttrCanMapHostMemory: return 1;
    case cudaDevAttrComputeMode: return cudaComputeModeDefault;
    case cudaDevAttrConcurrentKernels: return 1;
    case cudaDevAttrEccEnabled: return p.ECCEnabled;
    case cudaDevAttrPciBusId: return p.pciBusID;
    case cudaDevAttrPciDeviceId: return p.pciDeviceID;
    case cudaDevAttrPciDomainId: return p.pciDomainID;
    case cudaDevAttrTccDriver: return 0;
    case cudaDevAttrMemoryClockRate: return kMemoryClockKilohertz;
    case cudaDevAttrGlobalMemoryBusWidth: return p.memoryBusWidth;
    case cudaDevAttrL2CacheSize: return p.l2CacheSize;
    case cudaDevAttrMaxThreadsPerMultiProcessor: return p.maxThreadsPerMultiProcessor;
    case cudaDevAttrAsyncEngineCount: return p.asyncEngineCount;
    case cudaDevAttrUnifiedAddressing: return 1;
    case cudaDevAttrComputeCapabilityMajor: return p.major;
    case cudaDevAttrComputeCapabilityMinor: return p.minor;
    case cudaDevAttrStreamPrioritiesSupported: return 1;
    case cudaDevAttrGlobalL1CacheSupported: return 1;
    case cudaDevAttrLocalL1CacheSupported: return 1;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: return static_cast<int>(p.sharedMemPerMultiprocessor);
    case cudaDevAttrMaxRegistersPerMultiprocessor: return p.regsPerMultiprocessor;
    case cudaDevAttrManagedMemory: return 1;
    case cudaDevAttrIsMultiGpuBoard: return 0;
    case cudaDevAttrMultiGpuBoardGroupID: return p.multiGpuBoardGroupID;
    case cudaDevAttrHostNativeAtomicSupported: return 0;
    case cudaDevAttrSingleToDoublePrecisionPerfRatio: return 2;
    case cudaDevAttrPageableMemoryAccess: return 0;
    case cudaDevAttrConcurrentManagedAccess: return 1;
    case cudaDevAttrComputePreemptionSupported: return 1;
    case cudaDevAttrCanUseHostPointerForRegisteredMem: return 1;
    case cudaDevAttrCooperativeLaunch: return 1;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: return static_cast<int>(p.sharedMemPerBlockOptin);
    case cudaDevAttrCanFlushRemoteWrites: return 0;
    case cudaDevAttrHostRegisterSupported: return 1;
    case cudaDevAttrPageableMemoryAccessUsesHostPageTables: return 0;
    case cudaDevAttrDirectManagedMemAccessFromHost: return 0;
    case cudaDevAttrMaxBlocksPerMultiprocessor: return p.maxBlocksPerMultiProcessor;
    case cudaDevAttrMaxPersistingL2CacheSize: return 0;
    case cudaDevAttrMaxAccessPolicyWindowSize: return 0;
    case cudaDevAttrReservedSharedMemoryPerBlock: return static_cast<int>(p.reservedSharedMemPerBlock);
    case cudaDevAttrSparseCudaArraySupported: return 0;
    case cudaDevAttrHostRegisterReadOnlySupported: return 1;
    case cudaDevAttrTimelineSemaphoreInteropSupported: return 0;
    case cudaDevAttrMemoryPoolsSupported: return 1;
    case cudaDevAttrGPUDirectRDMASupported: return 0;
    case cudaDevAttrGPUDirectRDMAFlushWritesOptions: return 0;
    case cudaDevAttrGPUDirectRDMAWritesOrdering: return 0;
    case cudaDevAttrMemoryPoolSupportedHandleTypes: return 0;
    case cudaDevAttrClusterLaunch: return 0;
    case cudaDevAttrDeferredMappingCudaArraySupported: return 0;
    case cudaDevAttrIpcEventSupport: return 1;
    case cudaDevAttrMemSyncDomainCount: return 1;
    case cudaDevAttrNumaConfig: return 0;
    case cudaDevAttrNumaId: return -1;
    case cudaDevAttrMpsEnabled: return 0;
    case cudaDevAttrHostNumaId: return -1;
    case cudaDevAttrGpuPciDeviceId: return static_cast<int>(p.gpuPciDeviceID);
    case cudaDevAttrGpuPciSubsystemId: return 0;
    case cudaDevAttrHostNumaMemoryPoolsSupported: return 0;
    case cudaDevAttrHostNumaMultinodeIpcSupported: return 0;
    default: return std::nullopt;
  }
}

}  // namespace tutti::emulated

using namespace tutti::emulated;

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return entry_without_device([&] {
    require(properties != nullptr, cudaErrorInvalidValue);
    *properties = properties_of(device_at(device));
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return entry_without_device([&] {
    require(value != nullptr, cudaErrorInvalidValue);
    const std::optional<int> known = attribute_of(device_at(device), attribute);
    if (!known) give_up(fmt::format("it does not know the device attribute {}", static_cast<int>(attribute)));
    *value = *known;
  });
}
