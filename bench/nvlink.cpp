#include "bench/nvlink.hpp"

#include <dlfcn.h>

#include <algorithm>

namespace tutti::bench {
namespace {

// What of the library is used, as its reference manual declares it.
struct Device;
struct PciInfo {
  char short_address[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char address[32];
};
constexpr unsigned kMostLinks = 18;  // NVML_NVLINK_MAX_LINKS
using Init = int();
using Shutdown = int();
using HandleOf = int(const char*, Device**);
using LinkState = int(Device*, unsigned link, unsigned* active);
using RemoteEnd = int(Device*, unsigned link, PciInfo*);

template <class Function>
Function* find(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

}  // namespace

NvLinks::NvLinks(const std::vector<PciAddress>& gpus) {
  if (gpus.empty()) return;
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return;
  const auto init = find<Init>(library, "nvmlInit_v2");
  const auto handle_of = find<HandleOf>(library, "nvmlDeviceGetHandleByPciBusId_v2");
  const auto state = find<LinkState>(library, "nvmlDeviceGetNvLinkState");
  const auto remote = find<RemoteEnd>(library, "nvmlDeviceGetNvLinkRemotePciInfo_v2");
  if (!init || !handle_of || !state || !remote || init() != 0) {
    dlclose(library);
    return;
  }
  library_ = library;
  for (const PciAddress& gpu : gpus) {
    Ends ends{gpu, {}, 0};
    Device* device = nullptr;
    if (handle_of(name_of(gpu).c_str(), &device) != 0) continue;
    for (unsigned link = 0; link < kMostLinks; ++link) {
      unsigned active = 0;
      if (state(device, link, &active) != 0 || active == 0) continue;
      PciInfo info{};
      std::optional<PciAddress> other;
      if (remote(device, link, &info) == 0) other = parse_pci(info.address);
      // In a virtual machine a switch may have no address.
      if (other && std::find(gpus.begin(), gpus.end(), *other) != gpus.end())
        ends.direct.push_back(*other);
      else
        ++ends.to_switches;
    }
    ends_.push_back(std::move(ends));
  }
}

NvLinks::~NvLinks() {
  if (library_ == nullptr) return;
  if (const auto shutdown = find<Shutdown>(library_, "nvmlShutdown")) shutdown();
  dlclose(library_);
}

const NvLinks::Ends* NvLinks::ends_of(const PciAddress& gpu) const {
  const auto found = std::find_if(ends_.begin(), ends_.end(), [&](const Ends& ends) { return ends.gpu == gpu; });
  return found == ends_.end() ? nullptr : &*found;
}

int NvLinks::between(const PciAddress& a, const PciAddress& b) const {
  const Ends *const ends_a = ends_of(a), *const ends_b = ends_of(b);
  if (ends_a == nullptr || ends_b == nullptr || a == b) return 0;
  return static_cast<int>(std::count(ends_a->direct.begin(), ends_a->direct.end(), b)) +
         std::min(ends_a->to_switches, ends_b->to_switches);
}

}  // namespace tutti::bench
