// Stands in for NVIDIA's management library: four GPUs on a board with direct links and two with switches.
//
// 10:00.0 and 11:00.0 have four direct links, of which one is down; 10:00.0 has two to 12:00.0. 20:00.0 has 18 to
// switches, 21:00.0 has 16, whose addresses a virtual machine does not tell. 30:00.0 is no device of the library.
#include <cstdio>
#include <cstring>

namespace {

struct PciInfo {
  char short_address[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char address[32];
};

struct Link {
  bool active;
  const char* other;  ///< null: not told
};

constexpr int kSuccess = 0, kNotFound = 6, kNotSupported = 3;
bool started = false;

int links_of(unsigned bus, unsigned link, Link& found) {
  const char* const switch_address = "00000000:C1:00.0";
  switch (bus) {
    case 0x10:
      if (link < 4)
        found = {link != 3, "00000000:11:00.0"};
      else if (link < 6)
        found = {true, "00000000:12:00.0"};
      else
        return kNotSupported;
      return kSuccess;
    case 0x11:
      if (link >= 4) return kNotSupported;
      found = {link != 3, "00000000:10:00.0"};
      return kSuccess;
    case 0x12:
      if (link >= 2) return kNotSupported;
      found = {true, "00000000:10:00.0"};
      return kSuccess;
    case 0x20: found = {true, switch_address}; return kSuccess;
    case 0x21: found = {link < 16, nullptr}; return kSuccess;
  }
  return kNotSupported;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  started = true;
  return kSuccess;
}

int nvmlShutdown() {
  started = false;
  return kSuccess;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
  unsigned domain = 0, bus = 0;
  if (!started || std::sscanf(address, "%x:%x:", &domain, &bus) != 2 || bus == 0x30) return kNotFound;
  *device = reinterpret_cast<void*>(static_cast<unsigned long>(bus));
  return kSuccess;
}

int nvmlDeviceGetNvLinkState(void* device, unsigned link, unsigned* active) {
  Link found{};
  const int result = links_of(static_cast<unsigned>(reinterpret_cast<unsigned long>(device)), link, found);
  *active = found.active ? 1 : 0;
  return result;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned link, PciInfo* info) {
  Link found{};
  const int result = links_of(static_cast<unsigned>(reinterpret_cast<unsigned long>(device)), link, found);
  if (result != kSuccess || found.other == nullptr) return kNotSupported;
  std::strncpy(info->address, found.other, sizeof info->address - 1);
  return kSuccess;
}
}
