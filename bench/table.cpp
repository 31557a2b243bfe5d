#include "bench/table.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace tutti::bench {
namespace {

std::vector<std::string> names_of(const std::vector<BackendKind>& backends) {
  std::vector<std::string> names;
  for (BackendKind backend : backends) names.push_back(name_of(backend));
  return names;
}

// Three significant digits or more, at most ten characters.
std::string figure(double value) {
  return value >= 1000 ? fmt::format("{:.0f}", value)
         : value >= 10 ? fmt::format("{:.1f}", value)
         : value > 0   ? fmt::format("{:.2f}", value)
                       : "0";
}

constexpr const char* kColumns = "{:>10} {:>10} {:>5} {:>5} {:>4}  {:<7} {:<9} {:<11} {:>8} {:>6} {:>6} {:>6}";
constexpr const char* kRatioColumns = "  {:>6} {:>13}  {}";

}  // namespace

std::string table_header(const BenchArguments& arguments, const Machine& machine, int ranks, std::size_t arena_bytes) {
  std::string text;
  std::string gpus;
  for (const std::string& gpu : machine.gpus) gpus += ", " + gpu;
  text += fmt::format("# {} rank{} on {} core{} of {}{}, {:.0f} GiB of memory\n", ranks, ranks > 1 ? "s" : "",
                      machine.cores, machine.cores > 1 ? "s" : "", machine.cpu, gpus, machine.memory_gib);
  text += fmt::format("# backends: {}{}\n", fmt::join(names_of(arguments.backends), ", "),
                      machine.mpi.empty() ? "" : " (mpi is " + machine.mpi + ")");
  text += fmt::format("# native runs on the CPU ({}); its arena has {} per rank\n", why_on_cpu(),
                      readable_bytes(static_cast<double>(arena_bytes)));
  text += arguments.steady
              ? "# steady: nobody touches the buffers between calls, as in OSU and nccl-tests; real programs do\n"
              : "# fresh: each rank rewrites its input before a call and reads all of its output after it\n";
  text +=
      fmt::format("# {} rounds or more, in each all contenders take turns; time: median, slowest rank of each round\n",
                  arguments.rounds);
  if (arguments.backends.size() > 1)
    text += "# ratio: mpi's time / native's (above 1: native is faster), median of the rounds and its 95 % interval\n";
  text += "# placement: are the cores of ranks 0 and 1 near (a shared cache) or far; how long they take to meet\n";
  return text;
}

std::string section_header(const Case& c) {
  const char* where =
      c.operation == Operation::broadcast || c.operation == Operation::send_recv || c.operation == Operation::barrier
          ? ""
      : c.in_place ? ", in place"
                   : ", out of place";
  const char* note = c.operation == Operation::send_recv ? " (ping-pong between pairs of ranks: time of one way)"
                     : c.operation == Operation::reduce_scatter || c.operation == Operation::all_gather
                         ? " (size: all ranks' parts together; count: of one rank)"
                         : "";
  std::string text = fmt::format("#\n# {}{}{}\n", name_of(c.operation), where, note);
  text += fmt::format(kColumns, "size", "count", "type", "redop", "root", "backend", "algorithm", "memory", "time",
                      "algbw", "busbw", "#wrong");
  text += fmt::format(kRatioColumns, "ratio", "95 % interval", "placement");
  text += "\n";
  std::string units = fmt::format(kColumns, "(B)", "", "", "", "", "", "", "", "(us)", "(GB/s)", "(GB/s)", "");
  units.erase(units.find_last_not_of(' ') + 1);
  text += units;
  text += "\n";
  return text;
}

std::string table_line(const Row& row, bool several) {
  const Case& c = row.c;
  const std::string algorithm = several && row.asked_algorithm == "auto" ? "auto:" + row.algorithm : row.algorithm;
  const bool typed = c.operation != Operation::barrier;
  std::string line = fmt::format(
      kColumns, c.bytes, c.count, typed ? name_of(c.type) : "none", c.reduces() ? name_of(c.op) : "none",
      c.operation == Operation::broadcast ? c.root : -1, row.backend, algorithm, typed ? name_of(row.memory) : "-",
      figure(row.seconds * 1e6), figure(algbw(c.bytes, row.seconds) / kGB),
      figure(busbw(c.operation, c.ranks, c.bytes, row.seconds) / kGB),
      row.checked ? fmt::format("{}", row.wrong) : "N/A");
  std::string ratio, interval;
  if (!row.ratio.empty()) {
    const Ratio& r = row.ratio.begin()->second;
    ratio = figure(r.median);
    interval = fmt::format("[{} {}]", figure(r.low), figure(r.high));
  }
  const std::string placement = row.placement == Placement::unknown
                                    ? "unknown"
                                    : fmt::format("{} {:.0f} ns", name_of(row.placement), row.placement_ns);
  line += fmt::format(kRatioColumns, ratio, interval, placement);
  return line + "\n";
}

std::string table_footer(const std::vector<Row>& rows, bool checked) {
  std::uint64_t wrong = 0;
  std::map<std::string, std::pair<double, int>> bandwidth;
  std::map<std::string, std::pair<int, int>> wins;  // by peer: rows won, of how many
  std::map<std::string, const Row*> closest;
  for (const Row& row : rows) {
    wrong += row.wrong;
    if (row.c.operation != Operation::barrier) {
      auto& [sum, count] = bandwidth[row.backend];
      sum += busbw(row.c.operation, row.c.ranks, row.c.bytes, row.seconds) / kGB;
      ++count;
    }
    for (const auto& [peer, ratio] : row.ratio) {
      wins[peer].first += ratio.median >= 1;
      ++wins[peer].second;
      const Row*& least = closest[peer];
      if (!least || ratio.median < least->ratio.at(peer).median) least = &row;
    }
  }
  std::string text = "#\n";
  text += checked ? fmt::format("# Out of bounds values : {} {}\n", wrong, wrong == 0 ? "OK" : "FAILED")
                  : "# Out of bounds values : not checked\n";
  for (const auto& [backend, sum] : bandwidth)
    text += fmt::format("# Avg bus bandwidth    : {} GB/s ({})\n", figure(sum.first / sum.second), backend);
  for (const auto& [peer, won] : wins) {
    const Row& least = *closest[peer];
    text += fmt::format("# native is as fast as {} or faster in {} of {} rows; least ratio {} ({} {} bytes, {}, {})\n",
                        peer, won.first, won.second, figure(least.ratio.at(peer).median), name_of(least.c.operation),
                        least.c.bytes, name_of(least.memory), name_of(least.placement));
  }
  return text;
}

}  // namespace tutti::bench
