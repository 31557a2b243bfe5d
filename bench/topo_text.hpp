// The map and the measurements as people and programs read them.
#pragma once
#include <string>
#include <vector>

#include "bench/machine.hpp"
#include "bench/pair_speed.hpp"
#include "bench/topo_map.hpp"

namespace tutti::bench {

/// What was measured between ranks a < b.
struct MeasuredPair {
  int a = 0, b = 0;
  PairSpeed speed;
};

/// Wider matrices are left to the JSON file.
inline constexpr std::size_t kWidestMatrix = 16;

/// Where the job runs, in a few lines; `on` says on what and why.
std::string topo_header(const TopoMap& map, const Machine& machine, const std::string& on);
/// The matrix of links with the place of each rank, and its legend.
std::string link_matrix(const TopoMap& map);
/// The matrices of latency and bandwidth (of messages of `bytes` bytes), then both by kind of link if there are several
/// pairs.
std::string speed_matrices(const TopoMap& map, const std::vector<MeasuredPair>& pairs, std::size_t bytes);

/// Everything as JSON: an object with machine, command, ranks, devices, links, and pairs as far as they are measured.
/// `access[a][b]`: what the runtime says of the way from rank a's GPU to rank b's; empty on CPUs.
std::string topo_report(const TopoMap& map, const Machine& machine, const std::string& command,
                        const std::vector<std::vector<PeerAccess>>& access, const std::vector<MeasuredPair>& pairs,
                        std::size_t bytes);

}  // namespace tutti::bench
