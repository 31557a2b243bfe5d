// What a program can ask and set of its kernels, and how many blocks fit.
#include <algorithm>

#include "tests/emulator/runtime/entry.hpp"
#include "tests/emulator/runtime/launch.hpp"
#include "tests/emulator/runtime/limits.hpp"
#include "tests/emulator/runtime/modules.hpp"
#include "tests/emulator/runtime/settings.hpp"

namespace {

using namespace tutti::emulated;

int shared_per_block_at_most() { return multiprocessor_limits(settings().major, settings().minor).shared_per_block; }

/// Threads that a block may have: as compiled, and as registers allow.
int most_threads(const Kernel& kernel) {
  int threads = kernel.code().max_threads != 0 ? static_cast<int>(kernel.code().max_threads) : kMostThreadsPerBlock;
  while (threads > kWarpSize && blocks_per_multiprocessor(needs_of(kernel, threads, 0)) == 0) threads -= kWarpSize;
  return threads;
}

int resident_blocks(const Kernel& kernel, int threads, std::size_t dynamic_shared) {
  require(threads > 0, cudaErrorInvalidValue);
  if (threads > most_threads(kernel)) return 0;
  if (dynamic_shared > static_cast<std::size_t>(kernel.most_dynamic_shared.load())) return 0;
  return blocks_per_multiprocessor(needs_of(kernel, threads, dynamic_shared));
}

void set_attribute(Kernel& kernel, cudaFuncAttribute attribute, int value) {
  switch (attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
      require(value >= 0 && value <= shared_per_block_at_most() - static_cast<int>(kernel.code().shared_bytes),
              cudaErrorInvalidValue);
      kernel.most_dynamic_shared = value;
      return;
    case cudaFuncAttributePreferredSharedMemoryCarveout:
      require(value >= -1 && value <= 100, cudaErrorInvalidValue);
      kernel.preferred_carveout = value;
      return;
    // About clusters, of which there are none.
    case cudaFuncAttributeNonPortableClusterSizeAllowed:
    case cudaFuncAttributeClusterSchedulingPolicyPreference: return;
    default: throw Failure(cudaErrorInvalidValue);
  }
}

}  // namespace

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  return entry([&](Device&) {
    require(attributes != nullptr, cudaErrorInvalidValue);
    const Kernel& kernel = kernel_of(function);
    const MachineCodeFacts facts = kernel.facts();
    *attributes = {};
    attributes->sharedSizeBytes = kernel.code().shared_bytes;
    attributes->localSizeBytes = std::max<std::size_t>(facts.local_bytes, kernel.code().local_bytes);
    attributes->maxThreadsPerBlock = most_threads(kernel);
    attributes->numRegs = facts.registers;
    attributes->ptxVersion = kernel.binary().ptx_architecture();
    attributes->binaryVersion = std::max(kernel.binary().machine_code_architecture(), attributes->ptxVersion);
    attributes->maxDynamicSharedSizeBytes = kernel.most_dynamic_shared;
    attributes->preferredShmemCarveout = kernel.preferred_carveout;
  });
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return entry([&](Device&) { set_attribute(kernel_of(function), attribute, value); });
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attribute, int value, int device) {
  return entry([&](Device&) {
    device_at(device);
    set_attribute(kernel_of(kernel), attribute, value);
  });
}

cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache) {
  return entry([&](Device&) { kernel_of(function); });
}

cudaError_t cudaFuncGetName(const char** name, const void* function) {
  return entry([&](Device&) {
    require(name != nullptr, cudaErrorInvalidValue);
    *name = kernel_of(function).name().c_str();
  });
}

cudaError_t cudaFuncGetParamInfo(const void* function, std::size_t index, std::size_t* offset, std::size_t* bytes) {
  return entry([&](Device&) {
    const auto& parameters = kernel_of(function).code().parameters;
    require(offset != nullptr && index < parameters.size(), cudaErrorInvalidValue);
    *offset = parameters[index].offset;
    if (bytes) *bytes = parameters[index].bytes;
  });
}

cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  return entry([&](Device&) {
    require(kernel != nullptr, cudaErrorInvalidValue);
    *kernel = reinterpret_cast<cudaKernel_t>(&kernel_of(function));
  });
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* found, const void* function) {
  return entry([&](Device&) {
    require(found != nullptr, cudaErrorInvalidValue);
    *found = reinterpret_cast<cudaFunction_t>(&kernel_of(function));
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function, int threads,
                                                                   std::size_t dynamic_shared, unsigned flags) {
  return entry([&](Device&) {
    require(blocks != nullptr && (flags & ~static_cast<unsigned>(cudaOccupancyDisableCachingOverride)) == 0,
            cudaErrorInvalidValue);
    *blocks = resident_blocks(kernel_of(function), threads, dynamic_shared);
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                          std::size_t dynamic_shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, dynamic_shared,
                                                                cudaOccupancyDefault);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes, const void* function, int blocks,
                                                      int threads) {
  return entry([&](Device&) {
    require(bytes != nullptr && blocks > 0, cudaErrorInvalidValue);
    const Kernel& kernel = kernel_of(function);
    require(blocks <= resident_blocks(kernel, threads, 0), cudaErrorInvalidValue);
    const MultiprocessorLimits limits = multiprocessor_limits(settings().major, settings().minor);
    const int each = std::min(limits.shared / blocks - limits.shared_reserved_per_block, limits.shared_per_block);
    *bytes = static_cast<std::size_t>(std::max(each - static_cast<int>(kernel.code().shared_bytes), 0));
  });
}
