// Where this machine's GPUs and network adapters are on its PCI buses, as the kernel tells.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace tutti::bench {

/// A device's place, as in 0000:3b:00.0.
struct PciAddress {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  bool operator==(const PciAddress&) const = default;
};
/// Reads "0000:3b:00.0", and NVIDIA's longer and larger letters; nullopt for anything else.
std::optional<PciAddress> parse_pci(const std::string& text);
std::string name_of(const PciAddress& address);

/// How near two devices are: what the way between them crosses.
enum class PciLink {
  same_device,
  one_switch,   ///< at most one switch
  switches,     ///< several switches, no host bridge
  host_bridge,  ///< one host bridge
  same_node,    ///< two host bridges of one NUMA node
  system,       ///< NUMA nodes, or what the kernel does not tell
};

struct PciDevice {
  PciAddress address;
  std::string name;  ///< of an adapter: the kernel's, as in mlx5_0
  int node = -1;     ///< of NUMA; -1: the kernel does not tell
};

class PciMap {
 public:
  explicit PciMap(const std::string& sys = "/sys") : sys_(sys) {}
  /// NVIDIA's GPUs, in the order of their addresses, whether or not there is a driver.
  std::vector<PciDevice> gpus() const;
  /// Network adapters that reach memory by themselves (InfiniBand, RoCE); others are of no use to GPUs.
  std::vector<PciDevice> adapters() const;
  int node_of(const PciAddress& address) const;
  PciLink link(const PciAddress& a, const PciAddress& b) const;

 private:
  std::vector<std::string> way_to(const PciAddress& address) const;
  std::string sys_;
};

}  // namespace tutti::bench
