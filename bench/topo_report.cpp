#include <nlohmann/json.hpp>

#include "bench/bandwidth.hpp"
#include "bench/topo_text.hpp"

namespace tutti::bench {
namespace {

using Json = nlohmann::ordered_json;

Json rank_object(const TopoMap& map, const Spot& spot) {
  const RankPlace& place = map.places()[static_cast<std::size_t>(spot.rank)];
  const CpuPlace cpu = map.cpus().place(place.cpu);
  Json object = {
      {"rank", spot.rank},    {"label", spot.label},       {"host", place.host.data()},
      {"process", place.pid}, {"numa", map.node_of(spot)}, {"cpus", cpu_list(cpus_of(place.allowed))},
      {"cpu", place.cpu},     {"core", cpu.core},          {"package", cpu.package},
      {"gpu", nullptr},
  };
  if (spot.on_pci)
    object["gpu"] = {{"name", place.gpu.name.data()},
                     {"uuid", place.gpu.uuid.data()},
                     {"bus_id", name_of(spot.device.address)},
                     {"cpus_near", cpu_list(map.cpus().cpus_of_node(spot.device.node))}};
  return object;
}

Json device_object(const Spot& spot) {
  return {{"label", spot.label},
          {"kind", spot.kind == Spot::Kind::gpu ? "gpu" : "network"},
          {"name", spot.device.name},
          {"bus_id", name_of(spot.device.address)},
          {"numa", spot.device.node}};
}

Json access_object(const PeerAccess& access) {
  return {{"reached", access.reached}, {"atomics", access.atomics}, {"performance_rank", access.performance_rank}};
}

}  // namespace

std::string topo_report(const TopoMap& map, const Machine& machine, const std::string& command,
                        const std::vector<std::vector<PeerAccess>>& access, const std::vector<MeasuredPair>& pairs,
                        std::size_t bytes) {
  Json document = {
      {"machine",
       {{"cpu", machine.cpu},
        {"packages", map.cpus().packages()},
        {"numa_nodes", map.cpus().nodes()},
        {"cpus", cpu_list(map.cpus().cpus_of_node(-1))},
        {"memory_gib", machine.memory_gib}}},
      {"command", command},
      {"ranks", Json::array()},
      {"devices", Json::array()},
      {"links", Json::array()},
      {"message_bytes", bytes},
      {"pairs", Json::array()},
  };
  const std::vector<Spot>& spots = map.spots();
  for (std::size_t i = 0; i < spots.size(); ++i) {
    if (spots[i].kind == Spot::Kind::rank)
      document["ranks"].push_back(rank_object(map, spots[i]));
    else
      document["devices"].push_back(device_object(spots[i]));
    for (std::size_t j = i + 1; j < spots.size(); ++j) {
      Json link = {{"a", spots[i].label}, {"b", spots[j].label}, {"link", map.link(spots[i], spots[j])}};
      if (i < access.size() && j < access.size()) link["access"] = access_object(access[i][j]);
      document["links"].push_back(std::move(link));
    }
  }
  for (const auto& [a, b, speed] : pairs)
    document["pairs"].push_back({{"a", a},
                                 {"b", b},
                                 {"link", map.link(a, b)},
                                 {"latency_us", speed.latency * 1e6},
                                 {"latency_us_min", speed.latency_least * 1e6},
                                 {"latency_us_max", speed.latency_most * 1e6},
                                 {"bandwidth_a_to_b", speed.bandwidth_up / kGB},
                                 {"bandwidth_b_to_a", speed.bandwidth_down / kGB},
                                 {"round_trips", speed.round_trips},
                                 {"messages", speed.messages}});
  return document.dump(1) + "\n";
}

}  // namespace tutti::bench
