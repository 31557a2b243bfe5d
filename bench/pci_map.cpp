#include "bench/pci_map.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "bench/cpu_map.hpp"

namespace tutti::bench {
namespace {

namespace fs = std::filesystem;

template <class Devices>
void in_order_of_addresses(Devices& devices) {
  std::sort(devices.begin(), devices.end(),
            [](const auto& a, const auto& b) { return name_of(a.address) < name_of(b.address); });
}

}  // namespace

std::optional<PciAddress> parse_pci(const std::string& text) {
  PciAddress address;
  char surplus = 0;
  const int read = std::sscanf(text.c_str(), "%8x:%2x:%2x.%1x%c", &address.domain, &address.bus, &address.device,
                               &address.function, &surplus);
  return read == 4 ? std::optional(address) : std::nullopt;
}

std::string name_of(const PciAddress& address) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", address.domain, address.bus, address.device, address.function);
}

int PciMap::node_of(const PciAddress& address) const {
  const std::string text = first_line(sys_ + "/bus/pci/devices/" + name_of(address) + "/numa_node");
  return text.empty() ? -1 : std::atoi(text.c_str());
}

std::vector<PciDevice> PciMap::gpus() const {
  std::vector<PciDevice> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(sys_ + "/bus/pci/devices", none)) {
    const std::string folder = entry.path();
    const std::optional<PciAddress> address = parse_pci(entry.path().filename());
    // Classes 0x0300 (VGA) and 0x0302 (3D controller).
    const std::string kind = first_line(folder + "/class").substr(0, 6);
    if (address && first_line(folder + "/vendor") == "0x10de" && (kind == "0x0300" || kind == "0x0302"))
      found.push_back({*address, "", node_of(*address)});
  }
  in_order_of_addresses(found);
  return found;
}

std::vector<PciDevice> PciMap::adapters() const {
  std::vector<PciDevice> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(sys_ + "/class/infiniband", none)) {
    const fs::path device = fs::canonical(entry.path() / "device", none);
    if (const std::optional<PciAddress> address = parse_pci(device.filename()))
      found.push_back({*address, entry.path().filename(), node_of(*address)});
  }
  in_order_of_addresses(found);
  return found;
}

/// From the host bridge down to the device: the folders of sysfs are nested as the buses are.
std::vector<std::string> PciMap::way_to(const PciAddress& address) const {
  std::error_code none;
  std::vector<std::string> way;
  for (const fs::path& part : fs::canonical(sys_ + "/bus/pci/devices/" + name_of(address), none))
    if (!way.empty() || part.string().compare(0, 3, "pci") == 0) way.push_back(part);
  return way;
}

PciLink PciMap::link(const PciAddress& a, const PciAddress& b) const {
  if (a == b) return PciLink::same_device;
  const std::vector<std::string> way_a = way_to(a), way_b = way_to(b);
  if (way_a.empty() || way_b.empty()) return PciLink::system;
  const auto fork = std::mismatch(way_a.begin(), way_a.end(), way_b.begin(), way_b.end());
  const auto common = fork.first - way_a.begin();
  if (common == 0) {
    const int node = node_of(a);
    return node >= 0 && node == node_of(b) ? PciLink::same_node : PciLink::system;
  }
  if (common == 1) return PciLink::host_bridge;
  // Below the bridge that both share, a switch shows one more bridge, its port, before each device.
  const auto below_a = way_a.end() - fork.first, below_b = way_b.end() - fork.second;
  return below_a <= 2 && below_b <= 2 ? PciLink::one_switch : PciLink::switches;
}

}  // namespace tutti::bench
