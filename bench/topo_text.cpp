#include "bench/topo_text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "bench/bandwidth.hpp"
#include "bench/sizes.hpp"
#include "bench/statistics.hpp"

namespace tutti::bench {
namespace {

constexpr int kMargin = 6;

std::string plural(std::size_t count, const std::string& one, const std::string& many = "") {
  return fmt::format("{} {}", count, count == 1 ? one : many.empty() ? one + "s" : many);
}

std::string number(int value) { return value < 0 ? "-" : fmt::format("{}", value); }

// Columns as wide as their widest cell, two blanks between them: all to the left, or all but the first to the right.
std::string columns(const std::vector<std::vector<std::string>>& rows, bool to_the_right = false) {
  std::vector<std::size_t> width;
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i == width.size()) width.push_back(0);
      width[i] = std::max(width[i], row[i].size());
    }
  std::string text;
  for (const auto& row : rows) {
    std::string line = " ";
    for (std::size_t i = 0; i < row.size(); ++i)
      line +=
          to_the_right && i > 0 ? fmt::format(" {:>{}} ", row[i], width[i]) : fmt::format(" {:<{}} ", row[i], width[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

bool on_gpus(const TopoMap& map) { return map.spots().front().on_pci; }

// The columns to the right of the matrix: where this rank or device is.
std::vector<std::string> place_titles(const TopoMap& map) {
  if (on_gpus(map)) return {"NUMA", "bus id", "CPUs near", "process", "device"};
  return {"NUMA", "package", "core", "CPU", "of CPUs", "process"};
}

std::vector<std::string> place_cells(const TopoMap& map, const Spot& spot) {
  const std::string node = number(map.node_of(spot));
  if (spot.kind != Spot::Kind::rank) {
    if (on_gpus(map)) return {node, name_of(spot.device.address), "", "", spot.device.name};
    return {node};
  }
  const RankPlace& place = map.places()[static_cast<std::size_t>(spot.rank)];
  const std::string process = fmt::format("{}", place.pid);
  if (spot.on_pci)
    return {node, name_of(spot.device.address), cpu_list(map.cpus().cpus_of_node(spot.device.node)), process,
            fmt::format("{} {}", spot.device.name, place.gpu.uuid.data())};
  const CpuPlace cpu = map.cpus().place(place.cpu);
  return {node, number(cpu.package), number(cpu.core), number(place.cpu), cpu_list(cpus_of(place.allowed)), process};
}

std::string title_of(const Spot& spot) {
  switch (spot.kind) {
    case Spot::Kind::rank: return fmt::format("rank {}", spot.rank);
    case Spot::Kind::gpu: return fmt::format("a GPU that no rank is on, {}", name_of(spot.device.address));
    case Spot::Kind::adapter:
      return fmt::format("network adapter {}, {}", spot.device.name, name_of(spot.device.address));
  }
  return "";
}

using Cell = std::string (*)(const PairSpeed&, bool up);

std::string latency_cell(const PairSpeed& speed, bool) { return fmt::format("{:.2f}", speed.latency * 1e6); }
std::string bandwidth_cell(const PairSpeed& speed, bool up) {
  return fmt::format("{:.2f}", (up ? speed.bandwidth_up : speed.bandwidth_down) / kGB);
}

std::string matrix(std::size_t ranks, const std::vector<MeasuredPair>& pairs, Cell cell) {
  std::vector<std::vector<std::string>> rows(ranks + 1, std::vector<std::string>(ranks + 1, "X"));
  rows[0][0] = "";
  for (std::size_t rank = 0; rank < ranks; ++rank) rows[0][rank + 1] = rows[rank + 1][0] = fmt::format("R{}", rank);
  for (const MeasuredPair& pair : pairs) {
    const auto a = static_cast<std::size_t>(pair.a) + 1, b = static_cast<std::size_t>(pair.b) + 1;
    rows[a][b] = cell(pair.speed, true);
    rows[b][a] = cell(pair.speed, false);
  }
  return columns(rows, true);
}

// Medians of all pairs of each kind of link, the most frequent first.
std::string by_link(const TopoMap& map, const std::vector<MeasuredPair>& pairs) {
  std::map<std::string, std::vector<const PairSpeed*>> kinds;
  for (const MeasuredPair& pair : pairs) kinds[map.link(pair.a, pair.b)].push_back(&pair.speed);
  std::vector<std::vector<std::string>> rows = {
      {"link", "pairs", "latency, us", "(least .. most)", "GB/s", "(least .. most)"}};
  for (const auto& [link, speeds] : kinds) {
    std::vector<double> latency, bandwidth;
    for (const PairSpeed* speed : speeds) {
      latency.push_back(speed->latency * 1e6);
      bandwidth.push_back(speed->bandwidth_up / kGB);
      bandwidth.push_back(speed->bandwidth_down / kGB);
    }
    const auto range = [](const std::vector<double>& values) {
      const auto [least, most] = std::minmax_element(values.begin(), values.end());
      return fmt::format("({:.2f} .. {:.2f})", *least, *most);
    };
    rows.push_back({link, fmt::format("{}", speeds.size()), fmt::format("{:.2f}", median(latency)), range(latency),
                    fmt::format("{:.2f}", median(bandwidth)), range(bandwidth)});
  }
  return columns(rows);
}

}  // namespace

std::string topo_header(const TopoMap& map, const Machine& machine, const std::string& on) {
  const std::vector<RankPlace>& places = map.places();
  std::string text = fmt::format("tutti topo: {} on {}\n", plural(places.size(), "rank"), on);
  text += fmt::format("host {}: {}, {}, {}, {}, {:.1f} GiB\n", places.front().host.data(), machine.cpu,
                      plural(map.cpus().cpus_of_node(-1).size(), "CPU"),
                      plural(static_cast<std::size_t>(map.cpus().packages()), "package"),
                      plural(static_cast<std::size_t>(map.cpus().nodes()), "NUMA node"), machine.memory_gib);
  if (!on_gpus(map) && share_cpus(places))
    text += "There are more ranks than CPUs: latencies of ranks that share one are those of the kernel's scheduler.\n";
  return text;
}

std::string link_matrix(const TopoMap& map) {
  const std::vector<Spot>& spots = map.spots();
  const bool wide = spots.size() > kWidestMatrix;
  std::vector<std::vector<std::string>> rows(1);
  std::vector<std::string> labels;  // in the order of their first use
  rows[0].push_back("");
  if (!wide)
    for (const Spot& spot : spots) rows[0].push_back(spot.label);
  for (const std::string& title : place_titles(map)) rows[0].push_back(title);
  for (const Spot& spot : spots) {
    std::vector<std::string> row = {spot.label};
    for (const Spot& other : spots) {
      const std::string label = &spot == &other ? "X" : map.link(spot, other);
      if (std::find(labels.begin(), labels.end(), label) == labels.end()) labels.push_back(label);
      if (!wide) row.push_back(label);
    }
    for (const std::string& cell : place_cells(map, spot)) row.push_back(cell);
    rows.push_back(std::move(row));
  }
  std::string text = fmt::format("\n{}\n", columns(rows));
  if (wide) text += fmt::format("  The matrix is too wide to show ({}); --json has it.\n", plural(spots.size(), "row"));
  std::vector<std::vector<std::string>> legend;
  if (!wide)
    for (const std::string& label : labels) legend.push_back({label, explain_link(label)});
  for (const Spot& spot : spots)
    if (spot.kind != Spot::Kind::rank) legend.push_back({spot.label, title_of(spot)});
  return text + columns(legend);
}

std::string speed_matrices(const TopoMap& map, const std::vector<MeasuredPair>& pairs, std::size_t bytes) {
  const std::size_t ranks = map.places().size();
  std::string text;
  const bool wide = ranks > kWidestMatrix;
  if (!wide) {
    text += fmt::format("\nLatency in us: half of a round trip of 8 bytes\n\n{}", matrix(ranks, pairs, latency_cell));
    text += fmt::format("\nBandwidth in GB/s: messages of {}, from the row's rank to the column's\n\n{}",
                        readable_bytes(static_cast<double>(bytes)), matrix(ranks, pairs, bandwidth_cell));
  }
  if (pairs.size() > 1) text.append("\nBy link: medians over the pairs\n\n").append(by_link(map, pairs));
  if (wide) {
    std::vector<std::vector<std::string>> legend;
    for (const MeasuredPair& pair : pairs) {
      const std::string label = map.link(pair.a, pair.b);
      if (std::none_of(legend.begin(), legend.end(), [&](const auto& row) { return row[0] == label; }))
        legend.push_back({label, explain_link(label)});
    }
    text.append("\n").append(columns(legend));
  }
  return text;
}

}  // namespace tutti::bench
