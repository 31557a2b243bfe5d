#include "bench/tune/fitting.hpp"

#include <algorithm>
#include <tuple>

#include "bench/tune/nonnegative.hpp"

namespace tutti::tune {

namespace {

/// Those of mapped buffers. One that took longer than a call of more bytes was disturbed, and counts as that call.
std::vector<Timing> undisturbed(const Implementation& of, std::span<const Timing> timings) {
  std::vector<Timing> found;
  for (const Timing& each : timings)
    if (each.of == &of && each.memory == bench::MemoryKind::peer_mapped) found.push_back(each);
  const auto series_of = [](const Timing& each) { return std::tuple(each.c.ranks, each.c.root, each.placement); };
  std::sort(found.begin(), found.end(), [&](const Timing& a, const Timing& b) {
    return std::tuple(series_of(a), b.c.bytes) < std::tuple(series_of(b), a.c.bytes);
  });
  for (std::size_t i = 1; i < found.size(); ++i)
    if (series_of(found[i]) == series_of(found[i - 1]))
      found[i].seconds = std::min(found[i].seconds, found[i - 1].seconds);
  return found;
}

}  // namespace

Formula fit(const Implementation& of, std::span<const Timing> timings, int blocks) {
  std::vector<std::vector<double>> rows;
  for (const Timing& each : undisturbed(of, timings)) {
    const double nanoseconds = each.seconds * 1e9;
    const auto bytes = static_cast<double>(request_of(each.c, of.collective).bytes());
    const Quantities quantities = quantities_of(of, each.c.ranks, bytes, blocks);
    std::vector<double> row = {1, quantities.steps, quantities.peers};
    row.insert(row.end(), quantities.bytes.begin(), quantities.bytes.end());
    for (double& quantity : row) quantity /= nanoseconds;
    rows.push_back(std::move(row));
  }
  if (rows.empty()) return {};
  const std::vector<double> x = nonnegative_least_squares(rows, std::vector<double>(rows.size(), 1.0));
  Formula formula{.base = x[0], .step = x[1], .peer = x[2], .known = true};
  std::copy(x.begin() + 3, x.end(), formula.byte.begin());
  // Sizes beyond those timed go on as the last of these did.
  for (int i = kByteRanges; --i > 0;) {
    double timed = 0;
    for (const auto& row : rows) timed += row[static_cast<std::size_t>(i + 3)];
    if (timed > 0) break;
    int last = i;
    while (last > 0 && formula.byte[static_cast<std::size_t>(last)] == 0) --last;
    formula.byte[static_cast<std::size_t>(i)] = formula.byte[static_cast<std::size_t>(last)];
  }
  return formula;
}

Tuning fitted(Tuning tuning, std::span<const Timing> timings, int blocks) {
  for (const Implementation& each : implementations()) {
    bool timed = false;
    for (const Timing& one : timings) timed |= one.of->collective == each.collective;
    if (timed) tuning.of(each.kernel) = fit(each, timings, blocks);
  }
  if (tuning.of(Kernel::send).known) tuning.of(Kernel::recv) = tuning.of(Kernel::send);
  return tuning;
}

}  // namespace tutti::tune
