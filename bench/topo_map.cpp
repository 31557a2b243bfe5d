#include "bench/topo_map.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace tutti::bench {
namespace {

const char* label_of(CpuLink link) {
  switch (link) {
    case CpuLink::same_cpu: return "CPU";
    case CpuLink::same_core: return "SMT";
    case CpuLink::same_l2: return "L2";
    case CpuLink::same_l3: return "L3";
    case CpuLink::same_node: return "NODE";
    case CpuLink::same_package: return "PKG";
    case CpuLink::system: return "SYS";
  }
  return "?";
}

const char* label_of(PciLink link) {
  switch (link) {
    case PciLink::same_device: return "GPU";
    case PciLink::one_switch: return "PIX";
    case PciLink::switches: return "PXB";
    case PciLink::host_bridge: return "PHB";
    case PciLink::same_node: return "NODE";
    case PciLink::system: return "SYS";
  }
  return "?";
}

std::vector<Spot> spots_for(const std::vector<RankPlace>& places, const PciMap& pci) {
  std::vector<Spot> spots;
  std::vector<PciAddress> taken;
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    Spot spot{Spot::Kind::rank, fmt::format("R{}", rank), {}, false, static_cast<int>(rank)};
    if (const auto address = parse_pci(places[rank].gpu.address.data())) {
      spot.device = {*address, places[rank].gpu.name.data(), pci.node_of(*address)};
      spot.on_pci = true;
      taken.push_back(*address);
    }
    spots.push_back(spot);
  }
  int number = 0;
  for (const PciDevice& gpu : pci.gpus()) {
    const std::string label = fmt::format("G{}", number++);
    if (std::find(taken.begin(), taken.end(), gpu.address) == taken.end())
      spots.push_back({Spot::Kind::gpu, label, gpu, true, -1});
  }
  number = 0;
  for (const PciDevice& adapter : pci.adapters())
    spots.push_back({Spot::Kind::adapter, fmt::format("N{}", number++), adapter, true, -1});
  return spots;
}

std::vector<PciAddress> gpus_among(const std::vector<Spot>& spots) {
  std::vector<PciAddress> gpus;
  for (const Spot& spot : spots)
    if (spot.on_pci && spot.kind != Spot::Kind::adapter &&
        std::find(gpus.begin(), gpus.end(), spot.device.address) == gpus.end())
      gpus.push_back(spot.device.address);
  return gpus;
}

}  // namespace

RankPlace this_place() {
  RankPlace place;
  place.pid = getpid();
  gethostname(place.host.data(), place.host.size() - 1);
  CPU_ZERO(&place.allowed);
  if (sched_getaffinity(0, sizeof place.allowed, &place.allowed) != 0) CPU_ZERO(&place.allowed);
  return place;
}

std::vector<int> cpus_of(const cpu_set_t& set) {
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

std::vector<int> cpus_to_hold(const std::vector<RankPlace>& places) {
  std::vector<int> held;
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    const std::vector<int> allowed = cpus_of(places[rank].allowed);
    if (allowed.empty()) {
      held.push_back(-1);
      continue;
    }
    const auto alike = std::count_if(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(rank),
                                     [&](const auto& p) { return CPU_EQUAL(&p.allowed, &places[rank].allowed); });
    held.push_back(allowed[static_cast<std::size_t>(alike) % allowed.size()]);
  }
  return held;
}

bool share_cpus(const std::vector<RankPlace>& places) {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (const RankPlace& place : places) {
    if (place.cpu >= 0) {
      if (CPU_ISSET(place.cpu, &all)) return true;
      CPU_SET(place.cpu, &all);
    } else {
      CPU_OR(&all, &all, &place.allowed);
    }
  }
  return static_cast<int>(places.size()) > CPU_COUNT(&all);
}

TopoMap::TopoMap(std::vector<RankPlace> places, const CpuMap& cpus, const PciMap& pci)
    : places_(std::move(places)),
      cpus_(cpus),
      pci_(pci),
      spots_(spots_for(places_, pci)),
      nvlinks_(gpus_among(spots_)) {}

/// Of ranks that are not held: the farthest that they can be.
CpuLink TopoMap::cpu_link(const RankPlace& a, const RankPlace& b) const {
  const auto on = [](const RankPlace& place) {
    return place.cpu >= 0 ? std::vector<int>{place.cpu} : cpus_of(place.allowed);
  };
  const std::vector<int> of_a = on(a), of_b = on(b);
  if (of_a.empty() || of_b.empty()) return CpuLink::system;
  // CPUs are a tree: no pair is farther than the farther of two ways, from its CPU of a's to b's first, and from a's
  // first to its CPU of b's.
  CpuLink farthest = CpuLink::same_cpu;
  for (int cpu : of_b) farthest = std::max(farthest, cpus_.link(of_a.front(), cpu));
  for (int cpu : of_a) farthest = std::max(farthest, cpus_.link(cpu, of_b.front()));
  return farthest;
}

int TopoMap::node_of(const Spot& spot) const {
  if (spot.on_pci) return spot.device.node;
  const RankPlace& place = places_[static_cast<std::size_t>(spot.rank)];
  if (place.cpu >= 0) return cpus_.place(place.cpu).node;
  int node = -1;
  for (int cpu : cpus_of(place.allowed)) {
    const int its = cpus_.place(cpu).node;
    if (node >= 0 && its != node) return -1;
    node = its;
  }
  return node;
}

std::string TopoMap::link(const Spot& a, const Spot& b) const {
  if (!a.on_pci && !b.on_pci)
    return label_of(cpu_link(places_[static_cast<std::size_t>(a.rank)], places_[static_cast<std::size_t>(b.rank)]));
  if (a.on_pci && b.on_pci) {
    const int links = nvlinks_.between(a.device.address, b.device.address);
    return links > 0 ? fmt::format("NV{}", links) : label_of(pci_.link(a.device.address, b.device.address));
  }
  const int node = node_of(a);
  return cpus_.nodes() == 1 || (node >= 0 && node == node_of(b)) ? "NODE" : "SYS";
}

std::string TopoMap::link(int rank_a, int rank_b) const {
  return link(spots_[static_cast<std::size_t>(rank_a)], spots_[static_cast<std::size_t>(rank_b)]);
}

int TopoMap::nvlinks(int rank_a, int rank_b) const {
  return nvlinks_.between(spots_[static_cast<std::size_t>(rank_a)].device.address,
                          spots_[static_cast<std::size_t>(rank_b)].device.address);
}

std::string explain_link(const std::string& label) {
  if (label == "X") return "itself";
  if (label == "CPU") return "one CPU, in turns";
  if (label == "SMT") return "two hardware threads of one core";
  if (label == "L2") return "two cores with a common second-level cache";
  if (label == "L3") return "two cores with a common third-level cache";
  if (label == "PKG") return "one package, two NUMA nodes";
  if (label == "NODE") return "one NUMA node, no cache in common; devices: two PCI host bridges of one node";
  if (label == "SYS") return "two packages; devices: two NUMA nodes";
  if (label == "GPU") return "one GPU, in turns";
  if (label == "PIX") return "at most one PCI switch";
  if (label == "PXB") return "several PCI switches, no host bridge";
  if (label == "PHB") return "one PCI host bridge";
  if (label.compare(0, 2, "NV") == 0) return fmt::format("{} NVLinks, direct or through switches", label.substr(2));
  return "not told by the kernel";
}

}  // namespace tutti::bench
