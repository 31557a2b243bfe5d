#include "bench/predict/predict_table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "bench/predict/calls.hpp"
#include "bench/predict/machine_keys.hpp"
#include "kernels/connection.hpp"

namespace tutti::predict {
namespace {

using bench::Case;
using bench::Operation;

// Three significant digits or more, at most ten characters.
std::string figure(double value) {
  return value >= 1000 ? fmt::format("{:.0f}", value)
         : value >= 10 ? fmt::format("{:.1f}", value)
         : value > 0   ? fmt::format("{:.2f}", value)
                       : "0";
}

int widest(const bench::BenchArguments& arguments) {
  std::size_t width = std::strlen("algorithm");
  for (const Algorithm algorithm : arguments.algorithms) width = std::max(width, std::strlen(name_of(algorithm)));
  return static_cast<int>(std::max(width, std::strlen("two_shot")));
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string counted(int count, const char* one, const char* several) {
  return fmt::format("{} {}", count, count == 1 ? one : several);
}

/// "2 from data sheets, 1 published, 9 estimates"
std::string kinds_of_sources(const MachineFile& machine) {
  int sheets = 0, published = 0, measured = 0, estimates = 0;
  for (const auto& [key, source] : machine.sources) {
    sheets += source.starts_with("data sheet");
    published += source.starts_with("published");
    measured += source.starts_with("measured");
    estimates += source.starts_with("estimate");
  }
  std::string text;
  const auto add = [&](int count, const std::string& what) {
    if (count > 0) text.append(text.empty() ? "" : ", ").append(what);
  };
  add(sheets, fmt::format("{} from data sheets", sheets));
  add(published, fmt::format("{} published", published));
  add(measured, fmt::format("{} measured", measured));
  add(estimates, counted(estimates, "estimate", "estimates"));
  return text;
}

bool alike(const Group& a, const Group& b) {
  return a.front().question.c.operation == b.front().question.c.operation &&
         a.front().question.memory == b.front().question.memory;
}

/// Sizes of which the same is to be said; neighbours make one range.
class Ranges {
 public:
  struct Range {
    std::string what;
    std::size_t first = 0, last = 0;  ///< bytes
    std::size_t group = 0;            ///< the last one
    double most = 0;
    std::string why;
    bool single() const { return first == last; }
    std::string sizes() const {
      return single() ? bench::exact_size(first)
                      : fmt::format("{} to {}", bench::exact_size(first), bench::exact_size(last));
    }
  };
  void add(const std::string& what, std::size_t group, std::size_t bytes, double value = 0,
           const std::string& why = "") {
    Range* range = nullptr;
    for (Range& each : ranges_)
      if (each.what == what && each.group + 1 >= group) range = &each;
    if (!range) range = &ranges_.emplace_back(Range{what, bytes, bytes, group, value, why});
    range->last = bytes;
    range->group = group;
    range->most = std::max(range->most, value);
  }
  const std::vector<Range>& all() const { return ranges_; }

 private:
  std::vector<Range> ranges_;
};

/// "all_reduce: algorithm packets carries at most 8 bytes, this call has 9; use another" -> "carries at most 8 bytes"
std::string short_reason(const std::string& algorithm, const std::string& why) {
  const std::string begin = fmt::format("algorithm {} ", algorithm);
  const std::size_t at = why.find(begin);
  const std::string rest = at == std::string::npos ? why : why.substr(at + begin.size());
  return rest.substr(0, rest.find_first_of(",;"));
}

const char* link_of(const timed::Machine& machine) {
  switch (machine.wiring) {
    case timed::Wiring::switched: return "a rank's port to the switch, one way";
    case timed::Wiring::direct: return "the link between two ranks, one way";
    case timed::Wiring::shared: return "what all ranks share, their bytes together";
  }
  return "";
}

}  // namespace

PredictTable::PredictTable(const PredictArguments& arguments, const MachineFile& machine, int ranks)
    : arguments_(arguments), machine_(machine), ranks_(ranks), algorithm_width_(widest(arguments.calls)) {}

std::string PredictTable::header() const {
  const timed::Machine& m = machine_.machine;
  std::string text = "# PREDICTED, not measured: tutti's kernels in virtual time on a described machine\n";
  text += fmt::format("# {}: {}\n", m.name, m.about);
  text += fmt::format("#   its numbers: {} (--sources lists them)\n", kinds_of_sources(machine_));
  const std::string where = !m.is_gpu          ? fmt::format(" on {}", counted(m.cores, "core", "cores"))
                            : ranks_ > m.ranks ? fmt::format(", as if the machine had so many; it has {}", m.ranks)
                                               : std::string();
  text += fmt::format("# {} ranks{}\n", ranks_, where);
  if (ranks_ > kMaxRanks) text += fmt::format("#   (the library serves at most {} ranks)\n", kMaxRanks);
  if (ranks_ > kFoldedAbove)
    text += fmt::format("#   above {} ranks one block stands for all of a call, and its first call is predicted\n",
                        kFoldedAbove);
  text +=
      fmt::format("# time: {}, of the slowest rank\n",
                  m.is_gpu ? "calls back to back on warm state, launches included, as nccl-tests takes it"
                           : "a call from a barrier, up to 4 KiB without a root calls back to back, as bench takes it");
  text += fmt::format("# wire: bytes of a call over the busiest link ({})\n", link_of(m));
  text += "# limit: the time that the fewest possible bytes need on the links, as a part of the predicted time\n";
  return text;
}

std::string PredictTable::opening(const Question& question) const {
  const Case& c = question.c;
  const char* note = c.is(Operation::send_recv) ? " (ping-pong between pairs of ranks: time of one way)"
                     : c.spreads()              ? " (size: all ranks' parts together; count: of one rank)"
                                                : "";
  const std::string memory =
      c.is(Operation::barrier) ? "" : fmt::format(", {} memory", bench::name_of(question.memory));
  std::string text = fmt::format("#\n# {}{}{}\n", bench::name_of(c.operation), memory, note);
  const auto titles = [&](const char* size, const char* count, const char* type, const char* op, const char* root,
                          const char* algorithm, const char* blocks, const char* time, const char* algorithm_rate,
                          const char* bus_rate, const char* wire, const char* limit, const char* mark) {
    return trimmed(fmt::format("{:>10} {:>10} {:>4} {:>5} {:>4}  {:<{}} {:>6} {:>10} {:>7} {:>7} {:>10} {:>5}  {}",
                               size, count, type, op, root, algorithm, algorithm_width_, blocks, time, algorithm_rate,
                               bus_rate, wire, limit, mark));
  };
  text += titles("#     size", "count", "type", "redop", "root", "algorithm", "blocks", "time", "algbw", "busbw",
                 "wire", "limit", "");
  text += titles("#      (B)", "", "", "", "", "", "", "(us)", "(GB/s)", "(GB/s)", "(B)", "(%)", "");
  return text;
}

std::string PredictTable::line(const Row& row) const {
  const Case& c = row.question.c;
  const bool typed = !c.is(Operation::barrier);
  const bool known = row.refused.empty();
  const Algorithm algorithm = known ? row.prediction.algorithm : row.question.algorithm;
  std::string text =
      fmt::format("{:>10} {:>10} {:>4} {:>5} {:>4}  {:<{}} ", c.bytes, c.count, typed ? name_of(c.type) : "none",
                  c.reduces() ? name_of(c.op) : "none", c.rooted() ? c.root : -1, name_of(algorithm), algorithm_width_);
  if (!known) return text + fmt::format("{:>6} {:>10}  below\n", "-", "-");
  const Prediction& p = row.prediction;
  std::string mark = row.fastest ? "best" : "";
  if (row.chosen && arguments_.calls.algorithms.size() > 1) mark.append(mark.empty() ? "     auto" : " auto");
  text += fmt::format("{:>6} {:>10} {:>7} {:>7} {:>10.0f} {:>5}  {}", p.blocks, figure(p.seconds * 1e6),
                      figure(bench::algbw(c.bytes, p.seconds) / bench::kGB),
                      figure(bench::busbw(c.operation, c.ranks, c.bytes, p.seconds) / bench::kGB), p.wire_bytes,
                      p.limit > 0 ? fmt::format("{:.1f}", 100 * p.limit / p.seconds) : "-", mark);
  return trimmed(text);
}

std::string PredictTable::lines(const Group& group) {
  const Question& now = group.front().question;
  const bool opens =
      !last_ || last_->front().question.c.operation != now.c.operation || last_->front().question.memory != now.memory;
  std::string text = opens ? opening(now) : group.size() > 1 ? "#\n" : "";
  for (const Row& row : group)
    if (row.refused.empty() || !arguments_.calls.all_algorithms) text += line(row);
  last_ = &group;
  return text;
}

std::string PredictTable::footer(const std::vector<Group>& groups) const {
  std::string text;
  for (auto begin = groups.begin(); begin != groups.end();) {
    const auto end = std::find_if(begin, groups.end(), [&](const Group& group) { return !alike(*begin, group); });
    text += remarks({begin, end});
    begin = end;
  }
  return text.empty() ? "" : "#\n" + text;
}

/// Of the sizes of one collective and memory.
std::string PredictTable::remarks(std::span<const Group> groups) const {
  Ranges chosen, better, refused;
  std::size_t compared = 0, best = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Row *automatic = nullptr, *fastest = nullptr;
    const std::size_t bytes = groups[g].front().question.c.bytes;
    for (const Row& row : groups[g]) {
      if (row.chosen && !automatic) automatic = &row;
      if (row.fastest) fastest = &row;
      if (!row.refused.empty()) refused.add(name_of(row.question.algorithm), g, bytes, 0, row.refused);
    }
    if (!automatic) continue;
    chosen.add(name_of(automatic->prediction.algorithm), g, bytes);
    if (!fastest) continue;
    ++compared;
    const double less = 1 - fastest->prediction.seconds / automatic->prediction.seconds;
    if (!(less > 0))  // also where nothing takes time
      ++best;
    else
      better.add(name_of(fastest->prediction.algorithm), g, bytes, less);
  }
  const Question& question = groups.front().front().question;
  const bool sized = !question.c.is(Operation::barrier);
  std::string text;
  if (!chosen.all().empty()) {
    text += fmt::format(
        "# {}{}: auto runs", bench::name_of(question.c.operation),
        arguments_.calls.memories.size() > 1 && sized ? fmt::format(", {}", bench::name_of(question.memory)) : "");
    const char* separator = "";
    for (const Ranges::Range& range : chosen.all()) {
      text += fmt::format("{} {}", separator, range.what);
      if (sized) text += fmt::format(" at {}", range.sizes());
      separator = ",";
    }
    if (compared > 0) text += fmt::format("; the fastest of these rows in {} of {}", best, compared);
    text += "\n";
  }
  for (const Ranges::Range& range : better.all())
    text += fmt::format("#   {} would be faster{}: {:.0f} % less time{}\n", range.what,
                        sized ? " at " + range.sizes() : "", 100 * range.most, range.single() ? "" : " at most");
  for (const Ranges::Range& range : refused.all())
    text += fmt::format("#   {} is left out{}: it {}\n", range.what, sized ? " at " + range.sizes() : "",
                        short_reason(range.what, range.why));
  return text;
}

std::string list_of_machines() {
  std::string text;
  std::size_t width = 0;
  for (const std::string& name : shipped_machines()) width = std::max(width, name.size());
  for (const std::string& name : shipped_machines()) {
    const MachineFile file = machine_for(name);
    text += fmt::format("{:<{}}  {}; numbers: {}\n", name, width, file.machine.about, kinds_of_sources(file));
  }
  return text;
}

std::string list_of_sources(const MachineFile& file) {
  const timed::Machine& m = file.machine;
  std::string text = fmt::format("{}: {}\n\n", m.name, m.about);
  for (const Key& key : machine_keys()) {
    const auto source = file.sources.find(key.name);
    if (source == file.sources.end()) continue;
    const auto* const whole = std::get_if<int timed::Machine::*>(&key.member);
    const double value = whole ? m.**whole : m.*std::get<double timed::Machine::*>(key.member);
    text += fmt::format("{:<14} {:>8} {:<14}  {}\n", key.name, fmt::format("{:.10g}", value), key.unit, source->second);
  }
  return text;
}

}  // namespace tutti::predict
