#include "bench/table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <map>

namespace tutti::bench {
namespace {

// Three significant digits or more, at most ten characters.
std::string figure(double value) {
  return value >= 1000 ? fmt::format("{:.0f}", value)
         : value >= 10 ? fmt::format("{:.1f}", value)
         : value > 0   ? fmt::format("{:.2f}", value)
                       : "0";
}

constexpr const char* kRatioColumns = "  {:>6} {:>13}  {}";

// The widest name that the column of algorithms shows.
int widest(const BenchArguments& arguments) {
  std::size_t width = 9;
  for (Algorithm algorithm : arguments.algorithms) width = std::max(width, std::strlen(name_of(algorithm)));
  const bool marks_auto = arguments.algorithms.size() > 1 && arguments.algorithms.front() == Algorithm::automatic;
  return static_cast<int>(marks_auto ? std::max<std::size_t>(width, std::strlen("auto:two_shot")) : width);
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

Table::Table(const BenchArguments& arguments, bool timed)
    : arguments_(arguments), timed_(timed), algorithm_width_(widest(arguments)), backend_width_(7) {
  for (const peers::Setting& peer : arguments.peers)
    backend_width_ = std::max(backend_width_, static_cast<int>(peer.name.size()));
}

std::string Table::header(const Setting& setting) const {
  std::string text = fmt::format("# {} rank{} on {}\n", setting.ranks, setting.ranks > 1 ? "s" : "", setting.machine);
  text += fmt::format("# native runs on {}; its arena has {} per rank\n", setting.device,
                      readable_bytes(static_cast<double>(setting.arena_bytes)));
  if (!setting.peer.empty())
    text += fmt::format("# {} is {}\n", setting.peer,
                        setting.peer_library.empty() ? "the library of that name" : setting.peer_library);
  for (const std::string& note : setting.notes) text += fmt::format("# {}\n", note);
  text += arguments_.steady
              ? "# steady: nobody touches the buffers between calls, as in OSU and nccl-tests; real programs do\n"
              : "# fresh: each rank rewrites its input before a call and reads all of its output after it\n";
  if (!timed_)
    return text + "# the GPUs are emulated on the CPU: results count; times mean nothing and are left out (-)\n";
  text +=
      fmt::format("# {} rounds or more, in each all contenders take turns; time: median, slowest rank of each round\n",
                  arguments_.rounds);
  if (!setting.peer.empty())
    text += fmt::format(
        "# ratio: {}'s time / native's (above 1: native is faster), median of the rounds and its 95 % interval\n",
        setting.several_peers ? "the best peer" : setting.peer);
  if (setting.placements)
    text += "# placement: are the cores of ranks 0 and 1 near (a shared cache) or far; how long they take to meet\n";
  if (arguments_.bounds && setting.placements)
    text += "# bound: what moving the data takes at least, measured in the same rounds; share: of the time\n";
  if (arguments_.costs)
    text +=
        "# steps, wire: of native's kernel by its formula: longest chain of messages, most bytes that a rank sends or\n"
        "#   receives; nothing measured\n";
  return text;
}

std::string Table::columns(const std::vector<std::string>& t) const {
  std::string line =
      fmt::format("{:>10} {:>10} {:>5} {:>5} {:>4}  {:<{}} {:<{}} {:<11} {:>8} {:>6} {:>6} {:>6}", t[0], t[1], t[2],
                  t[3], t[4], t[5], backend_width_, t[6], algorithm_width_, t[7], t[8], t[9], t[10], t[11]);
  if (arguments_.costs) line += fmt::format(" {:>5} {:>10}", t[12], t[13]);
  if (arguments_.bounds) line += fmt::format(" {:>8} {:>5}", t[14], t[15]);
  return line;
}

std::string Table::section(const Case& c) const {
  const char* where = !c.has_places() ? "" : c.in_place ? ", in place" : ", out of place";
  const char* note = c.is(Operation::send_recv) ? " (ping-pong between pairs of ranks: time of one way)"
                     : c.spreads()              ? " (size: all ranks' parts together; count: of one rank)"
                                                : "";
  const char* nowhere = arguments_.in_place != std::vector<bool>{false} && c.is(Operation::all_to_all)
                            ? " (in place: N/A, it has no such form)"
                            : "";
  std::string text = fmt::format("#\n# {}{}{}{}\n", name_of(c.operation), where, note, nowhere);
  text += columns({"size", "count", "type", "redop", "root", "backend", "algorithm", "memory", "time", "algbw", "busbw",
                   "#wrong", "steps", "wire", "bound", "share"}) +
          fmt::format(kRatioColumns, "ratio", "95 % interval", "placement") + "\n";
  text +=
      trimmed(columns({"(B)", "", "", "", "", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "", "(B)", "(us)", "(%)"}));
  return text;
}

std::vector<std::string> Table::head_of(const Row& row) const {
  const Case& c = row.c;
  const bool typed = !c.is(Operation::barrier);
  const bool marks_auto = arguments_.algorithms.size() > 1 && row.asked_algorithm == "auto";
  return {fmt::format("{}", c.bytes),
          fmt::format("{}", c.count),
          typed ? name_of(c.type) : "none",
          c.reduces() ? name_of(c.op) : "none",
          fmt::format("{}", c.rooted() ? c.root : -1),
          row.backend,
          marks_auto ? fmt::format("auto:{}", row.algorithm) : row.algorithm,
          typed ? name_of(row.memory) : "-"};
}

std::string Table::line(const Row& row) const {
  const Case& c = row.c;
  std::vector<std::string> texts = head_of(row);
  const bool has_cost = row.cost.steps > 0;
  const auto timed = [this](double value) { return timed_ ? figure(value) : "-"; };
  for (std::string text :
       {timed(row.seconds * 1e6), timed(algbw(c.bytes, row.seconds) / kGB),
        timed(busbw(c.operation, c.ranks, c.bytes, row.seconds) / kGB),
        row.checked ? fmt::format("{}", row.wrong) : "N/A", has_cost ? fmt::format("{}", row.cost.steps) : "-",
        has_cost ? fmt::format("{:.0f}", row.cost.wire_bytes) : "-", row.bound > 0 ? timed(row.bound * 1e6) : "-",
        row.bound > 0 && timed_ ? fmt::format("{:.0f}", 100 * row.bound / row.seconds) : "-"})
    texts.push_back(std::move(text));
  std::string ratio, interval;
  if (timed_ && !row.ratio.empty()) {
    const Ratio& r = row.ratio.at(row.best_peer);
    ratio = figure(r.median);
    interval = fmt::format("[{} {}]", figure(r.low), figure(r.high));
  }
  const std::string placement = row.placement == Placement::unknown
                                    ? "unknown"
                                    : fmt::format("{} {:.0f} ns", name_of(row.placement), row.placement_ns);
  const std::string against = timed_ && row.ratio.size() > 1 ? "  " + row.best_peer : "";
  return columns(texts) + fmt::format(kRatioColumns, ratio, interval, placement) + against + "\n";
}

std::string Table::line(const LeftOut& left_out) const {
  std::vector<std::string> texts = head_of(left_out.row);
  texts.resize(16, "N/A");
  return columns(texts) + fmt::format("  {}\n", left_out.why);
}

std::string Table::footer(const std::vector<Row>& rows) const {
  std::uint64_t wrong = 0;
  std::map<std::string, std::pair<double, int>> bandwidth;
  std::map<std::string, std::pair<int, int>> wins;  // by peer: rows won, of how many
  std::map<std::string, const Row*> closest;
  int won_best = 0, of_best = 0;  // of rows with several peers, against the best of each row
  const Row* closest_best = nullptr;
  for (const Row& row : rows) {
    wrong += row.wrong;
    if (!row.c.is(Operation::barrier)) {
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
    if (row.ratio.size() > 1) {
      const double best = row.ratio.at(row.best_peer).median;
      won_best += best >= 1;
      ++of_best;
      if (!closest_best || best < closest_best->ratio.at(closest_best->best_peer).median) closest_best = &row;
    }
  }
  std::string text = "#\n";
  text += arguments_.check ? fmt::format("# Out of bounds values : {} {}\n", wrong, wrong == 0 ? "OK" : "FAILED")
                           : "# Out of bounds values : not checked\n";
  if (!timed_) return text;
  for (const auto& [backend, sum] : bandwidth)
    text += fmt::format("# Avg bus bandwidth    : {} GB/s ({})\n", figure(sum.first / sum.second), backend);
  for (const auto& [peer, won] : wins) {
    const Row& least = *closest[peer];
    text += fmt::format("# native is as fast as {} or faster in {} of {} rows; least ratio {} ({} {} bytes, {}, {})\n",
                        peer, won.first, won.second, figure(least.ratio.at(peer).median), name_of(least.c.operation),
                        least.c.bytes, name_of(least.memory), name_of(least.placement));
  }
  if (closest_best)
    text += fmt::format(
        "# native is as fast as the best peer or faster in {} of {} rows; least ratio {} ({} {} bytes, "
        "{}, {}, {})\n",
        won_best, of_best, figure(closest_best->ratio.at(closest_best->best_peer).median),
        name_of(closest_best->c.operation), closest_best->c.bytes, name_of(closest_best->memory),
        name_of(closest_best->placement), closest_best->best_peer);
  return text;
}

}  // namespace tutti::bench
