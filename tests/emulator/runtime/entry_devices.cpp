#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <map>

#include "tests/emulator/runtime/entry.hpp"
#include "tests/emulator/runtime/memory.hpp"
#include "tests/emulator/runtime/settings.hpp"

namespace {

using namespace tutti::emulated;

constexpr int kVersion = CUDART_VERSION;

std::string pci_of(const Device& device) { return fmt::format("0000:{:02x}:00.0", device.gpu() + 1); }

bool can_access(int device, int peer) {
  device_at(device);
  device_at(peer);
  return device != peer && settings().peer_access;
}

struct Limits {
  std::mutex mutex;
  std::map<std::pair<int, cudaLimit>, std::size_t> set;
};
Limits& limits() {
  static Limits* const all = new Limits;
  return *all;
}

std::size_t first_limit(cudaLimit limit) {
  switch (limit) {
    case cudaLimitStackSize: return 1 << 10;
    case cudaLimitPrintfFifoSize: return 1 << 20;
    case cudaLimitMallocHeapSize: return 8 << 20;
    case cudaLimitMaxL2FetchGranularity: return 64;
    case cudaLimitPersistingL2CacheSize: return 0;
    default: throw Failure(cudaErrorUnsupportedLimit);
  }
}

thread_local unsigned device_flags = cudaDeviceScheduleAuto;

}  // namespace

cudaError_t cudaGetDeviceCount(int* count) {
  return entry_without_device([&] {
    require(count != nullptr, cudaErrorInvalidValue);
    *count = static_cast<int>(devices().size());
    require(*count != 0, cudaErrorNoDevice);
  });
}

cudaError_t cudaGetDevice(int* device) {
  return entry_without_device([&] {
    require(device != nullptr, cudaErrorInvalidValue);
    *device = current_device().index();
  });
}

cudaError_t cudaSetDevice(int device) {
  return entry_without_device([&] { set_current_index(device_at(device).index()); });
}

cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
  return entry_without_device([&] { device_at(device).require_healthy(); });
}

cudaError_t cudaDeviceReset() {
  return entry_without_device([] { current_device().reset(); });
}

cudaError_t cudaSetDeviceFlags(unsigned flags) {
  return entry_without_device([&] {
    require((flags & ~static_cast<unsigned>(cudaDeviceMask)) == 0, cudaErrorInvalidValue);
    current_device();
    device_flags = flags;
  });
}

cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  return entry_without_device([&] {
    require(flags != nullptr, cudaErrorInvalidValue);
    current_device();
    *flags = device_flags | cudaDeviceMapHost;
  });
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  if (!version) return noted(cudaErrorInvalidValue);
  *version = kVersion;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  if (!version) return noted(cudaErrorInvalidValue);
  *version = kVersion;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device) {
  return entry_without_device([&] {
    const std::string whole = pci_of(device_at(device));
    require(id != nullptr && length > static_cast<int>(whole.size()), cudaErrorInvalidValue);
    std::memcpy(id, whole.c_str(), whole.size() + 1);
  });
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* id) {
  return entry_without_device([&] {
    require(device != nullptr && id != nullptr, cudaErrorInvalidValue);
    unsigned domain = 0, bus = 0, slot = 0, function = 0;
    const bool with_domain = std::sscanf(id, "%x:%x:%x.%x", &domain, &bus, &slot, &function) >= 3;
    if (!with_domain) {
      domain = 0;
      require(std::sscanf(id, "%x:%x.%x", &bus, &slot, &function) >= 2, cudaErrorInvalidValue);
    }
    for (const auto& one : devices())
      if (domain == 0 && slot == 0 && bus == static_cast<unsigned>(one->gpu() + 1)) {
        *device = one->index();
        return;
      }
    throw Failure(cudaErrorInvalidDevice);
  });
}

// ---- Peers
// -----------------------------------------------------------------------------------------------------------

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return entry_without_device([&] {
    require(can != nullptr, cudaErrorInvalidValue);
    *can = can_access(device, peer);
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  return entry([&](Device& device) {
    require(flags == 0, cudaErrorInvalidValue);
    device_at(peer);
    require(peer != device.index(), cudaErrorInvalidDevice);
    require(can_access(device.index(), peer), cudaErrorPeerAccessUnsupported);
    const std::uint64_t bit = std::uint64_t{1} << peer;
    require(!(device.peers() & bit), cudaErrorPeerAccessAlreadyEnabled);
    device.set_peers(device.peers() | bit);
  });
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return entry([&](Device& device) {
    const std::uint64_t bit = std::uint64_t{1} << device_at(peer).index();
    require(device.peers() & bit, cudaErrorPeerAccessNotEnabled);
    device.synchronize();
    device.set_peers(device.peers() & ~bit);
    AllocationTable::instance().changed();
  });
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int from, int to) {
  return entry_without_device([&] {
    require(value != nullptr, cudaErrorInvalidValue);
    const bool can = can_access(from, to);
    require(from != to, cudaErrorInvalidDevice);
    switch (attribute) {
      case cudaDevP2PAttrPerformanceRank: *value = 0; return;
      case cudaDevP2PAttrAccessSupported:
      case cudaDevP2PAttrNativeAtomicSupported: *value = can; return;
      case cudaDevP2PAttrCudaArrayAccessSupported:
      case cudaDevP2PAttrOnlyPartialNativeAtomicSupported: *value = 0; return;
    }
    throw Failure(cudaErrorInvalidValue);
  });
}

// ---- Settings that are kept and change nothing here
// ------------------------------------------------------------------

cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit limit) {
  return entry([&](Device& device) {
    require(value != nullptr, cudaErrorInvalidValue);
    const std::size_t otherwise = first_limit(limit);
    Limits& all = limits();
    std::lock_guard lock(all.mutex);
    const auto found = all.set.find({device.index(), limit});
    *value = found == all.set.end() ? otherwise : found->second;
  });
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, std::size_t value) {
  return entry([&](Device& device) {
    first_limit(limit);
    Limits& all = limits();
    std::lock_guard lock(all.mutex);
    all.set[{device.index(), limit}] = value;
  });
}

cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* preference) {
  return entry([&](Device&) {
    require(preference != nullptr, cudaErrorInvalidValue);
    *preference = cudaFuncCachePreferNone;
  });
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) {
  return entry([](Device&) {});
}

cudaError_t cudaProfilerStart() {
  return entry([](Device&) {});
}

cudaError_t cudaProfilerStop() {
  return entry([](Device&) {});
}
