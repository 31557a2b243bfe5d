// The map of a job: its ranks, the devices of the machine, and how near each is to each.
#pragma once
#include <sched.h>

#include <array>
#include <string>
#include <vector>

#include "bench/cpu_map.hpp"
#include "bench/nvlink.hpp"
#include "bench/pci_map.hpp"
#include "bench/rank_gpu.hpp"

namespace tutti::bench {

/// Where one rank is. Trivially copyable, for the bootstrap.
struct RankPlace {
  long pid = 0;
  std::array<char, 64> host{};
  cpu_set_t allowed{};  ///< CPUs that it may use
  int cpu = -1;         ///< the one that it is held on while measuring; -1: it is not held
  RankGpu gpu;          ///< empty on the CPU
};

/// This process's place, but for `cpu` and `gpu`.
RankPlace this_place();
std::vector<int> cpus_of(const cpu_set_t& set);

/// The CPU that each rank is held on: ranks that may use the same CPUs take them in turn. More ranks than CPUs share.
std::vector<int> cpus_to_hold(const std::vector<RankPlace>& places);
/// True if two ranks are held on one CPU, or more ranks than CPUs are not held.
bool share_cpus(const std::vector<RankPlace>& places);

/// A row and a column of the matrix: a rank, or a device that no rank is on.
struct Spot {
  enum class Kind { rank, gpu, adapter };
  Kind kind = Kind::rank;
  std::string label;  ///< R0, G0, N0, ...
  PciDevice device;   ///< of a rank on the CPU: none
  bool on_pci = true;
  int rank = -1;
};

class TopoMap {
 public:
  /// `places` in rank order.
  TopoMap(std::vector<RankPlace> places, const CpuMap& cpus, const PciMap& pci);

  const std::vector<RankPlace>& places() const { return places_; }
  const CpuMap& cpus() const { return cpus_; }
  /// The ranks, then the GPUs that no rank is on, then the network adapters.
  const std::vector<Spot>& spots() const { return spots_; }
  /// How near two spots are, as in the matrix; explain_link says what it means.
  std::string link(const Spot& a, const Spot& b) const;
  std::string link(int rank_a, int rank_b) const;
  int nvlinks(int rank_a, int rank_b) const;
  /// The NUMA node of a rank's CPU or GPU; -1: several, or the kernel does not tell.
  int node_of(const Spot& spot) const;

 private:
  CpuLink cpu_link(const RankPlace& a, const RankPlace& b) const;

  std::vector<RankPlace> places_;
  const CpuMap& cpus_;
  const PciMap& pci_;
  std::vector<Spot> spots_;
  NvLinks nvlinks_;
};

/// What a label of the matrix means, in a line.
std::string explain_link(const std::string& label);

}  // namespace tutti::bench
