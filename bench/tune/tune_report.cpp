#include "bench/tune/tune_report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "bench/statistics.hpp"

namespace tutti::tune {
namespace {

using bench::MemoryKind;

std::string figure(double value) {
  return value >= 1000 ? fmt::format("{:.0f}", value)
         : value >= 10 ? fmt::format("{:.1f}", value)
                       : fmt::format("{:.2f}", value);
}

std::string us(double seconds) { return figure(seconds * 1e6); }

std::string size_of_call(const Judged& each) {
  return each.chosen.c.is(bench::Operation::barrier) ? "-" : bench::exact_size(each.chosen.c.bytes);
}

std::string worst_text(std::span<const Judged> judged, MemoryKind memory) {
  const Judged* worst = nullptr;
  int calls = 0, slow = 0;
  for (const Judged& each : judged) {
    if (each.chosen.memory != memory) continue;
    ++calls;
    slow += each.ratio() > 1.3;
    if (!worst || each.ratio() > worst->ratio()) worst = &each;
  }
  if (!worst) return "";
  return fmt::format(
      "# {}: auto's choice takes at most {:.2f} times as long as the fastest ({}, {} ranks, {} bytes: {}, "
      "{}); above 1.3 in {} of {} calls\n",
      name_of(memory), worst->ratio(), name_of(worst->chosen.c.operation), worst->chosen.c.ranks, size_of_call(*worst),
      name_of(worst->chosen.of->algorithm), name_of(worst->fastest.of->algorithm), slow, calls);
}

}  // namespace

std::string choices_text(std::span<const Judged> judged, const char* timed) {
  std::string text;
  const Judged* before = nullptr;
  for (const Judged& each : judged) {
    const bench::Case& c = each.chosen.c;
    if (!before || before->chosen.c.operation != c.operation || before->chosen.c.ranks != c.ranks) {
      text += fmt::format("#\n# {}, {} ranks; times {}\n", name_of(c.operation), c.ranks, timed);
      text += fmt::format("{:>8} {:<11} {:<9} {:<18} {:>9} {:>9}  {:<18} {:>9} {:>6}\n", "size", "memory", "placement",
                          "choice", "expected", "time", "fastest", "time", "ratio");
      text += fmt::format("{:>8} {:<11} {:<9} {:<18} {:>9} {:>9}  {:<18} {:>9}\n", "(B)", "", "", "", "(us)", "(us)",
                          "", "(us)");
    }
    before = &each;
    text += fmt::format("{:>8} {:<11} {:<9} {:<18} {:>9} {:>9}  {:<18} {:>9} {:>6.2f}{}\n", size_of_call(each),
                        name_of(each.chosen.memory), name_of(each.chosen.placement), name_of(each.chosen.of->algorithm),
                        us(each.expected), us(each.chosen.seconds), name_of(each.fastest.of->algorithm),
                        us(each.fastest.seconds), each.ratio(), each.ratio() > 1.3 ? " !" : "");
  }
  return text + "#\n" + worst_text(judged, MemoryKind::peer_mapped) + worst_text(judged, MemoryKind::any);
}

std::string errors_text(std::span<const Timing> timings, const Tuning& tuning, bool on_gpu) {
  std::map<const Implementation*, std::vector<double>> errors;
  for (const Timing& each : timings) {
    if (each.memory != MemoryKind::peer_mapped || !tuning.of(each.of->kernel).known) continue;
    const Chooser chooser(choosing_geometry(on_gpu, each.c.ranks), false, tuning);
    const double expected = chooser.nanoseconds(*each.of, request_of(each.c, each.of->collective)) * 1e-9;
    errors[each.of].push_back(std::abs(expected / each.seconds - 1));
  }
  std::vector<double> all;
  for (const auto& [of, some] : errors) all.insert(all.end(), some.begin(), some.end());
  if (all.empty()) return "";
  const auto [of, worst] = *std::max_element(errors.begin(), errors.end(), [](const auto& a, const auto& b) {
    return bench::median(a.second) < bench::median(b.second);
  });
  return fmt::format("# formulas are off by {:.0f} % (median); most, {:.0f} %, that of {} by {}\n",
                     100 * bench::median(all), 100 * bench::median(worst), name_of(of->collective),
                     name_of(of->algorithm));
}

}  // namespace tutti::tune
