#include "tests/model/check_plan.hpp"

#include <fmt/format.h>

#include "tests/model/check_sequences.hpp"

namespace tutti::model {
namespace {

constexpr int kMostWorld = 16;  // of those that are all tried
constexpr int kLargeWorlds[] = {32, 64};
constexpr std::uint64_t kSequences = 300;  // of each world

std::vector<int> worlds_for(const Options& o, bool sequences) {
  if (!o.ranks.empty()) return o.ranks;
  std::vector<int> worlds;
  for (int ranks = 2; ranks <= (sequences ? kMostSequenceRanks : kMostWorld); ++ranks) worlds.push_back(ranks);
  if (!sequences) worlds.insert(worlds.end(), std::begin(kLargeWorlds), std::end(kLargeWorlds));
  return worlds;
}

/// Schedules of a kernel, so that all together take minutes on two cores; 0: it costs too much there.
// A kernel has about a thousand combinations. A schedule of a kernel takes, on average, 0.1 ms in a world of 2, 2 ms in
// one of 8, 11 ms in one of 16, 45 ms in one of 32 (Zen 4). In a world of 64 an all-reduce whose chunks are slices
// takes 3 to 5 s.
std::uint64_t default_seeds(Kernel kernel, int ranks) {
  if (ranks <= 4) return 3000;
  if (ranks <= 8) return 1000;
  if (ranks <= kMostWorld) return 120;  // with those of the other such worlds, all combinations
  if (ranks <= 32) return 12;
  return cases::shape_of(kernel) == cases::Shape::all_reduce && !by_packets(kernel) ? 0 : 3;
}

}  // namespace

Work work_for(const Options& o) {
  Work work{.groups = {}, .pins = o.pins, .plant = o.plant, .jobs = o.jobs, .seconds = o.minutes * 60};
  std::vector<Kernel> kernels = o.kernels;
  if (kernels.empty() && !o.sequences)
    for (int k = 0; k < kKernels; ++k)
      if (static_cast<Kernel>(k) != Kernel::recv) kernels.push_back(static_cast<Kernel>(k));
  for (const Kernel kernel : kernels) {
    for (const int ranks : worlds_for(o, false)) {
      if (ranks == 1 || (o.pins.root && *o.pins.root >= ranks)) continue;
      std::uint64_t seeds = o.seeds.value_or(default_seeds(kernel, ranks));
      // Where it was asked for by name, it may cost what it costs.
      if (seeds == 0 && !o.kernels.empty() && !o.ranks.empty()) seeds = 1;
      work.groups.push_back({.kernel = kernel, .ranks = ranks, .first_seed = o.first_seed, .seeds = seeds});
    }
  }
  const bool all = o.kernels.empty() && !o.sequences;
  const Pins& p = o.pins;
  const bool pinned = p.count || p.bytes || p.type || p.op || p.root || p.mapped || p.in_place || p.blocks || p.slots;
  if (o.sequences && pinned)
    throw OptionError(
        "--sequences draws sizes, memory, blocks and all else from the seed: only --ranks, --seeds, "
        "--first-seed, --jobs, --minutes and --plant go with it");
  if (o.sequences || (all && !pinned)) {
    for (const int ranks : worlds_for(o, true)) {
      if (ranks < kLeastSequenceRanks) continue;
      if (ranks > kMostSequenceRanks && all) continue;
      if (ranks > kMostSequenceRanks)
        throw OptionError(
            fmt::format("--sequences --ranks {}: use {} to {}", ranks, kLeastSequenceRanks, kMostSequenceRanks));
      work.groups.push_back(
          {.kernel = {}, .ranks = ranks, .first_seed = o.first_seed, .seeds = o.seeds.value_or(kSequences)});
    }
  }
  return work;
}

}  // namespace tutti::model
