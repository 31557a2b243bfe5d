// Every kernel in the model, in worlds of 2 to 16 ranks: a part of what `tutti check` tries. A world of one has no
// kernel (the layer above copies).
#include <gtest/gtest.h>

#include <tuple>

#include "tests/model/calls.hpp"
#include "tests/model/check_report.hpp"

namespace tutti::model {
namespace {

/// Schedules of each kernel with so many blocks, so that large worlds take about as long as small ones.
std::uint64_t seeds_for(int ranks) {
  if (kReduced) return ranks <= 4 ? 5 : 1;
  const std::uint64_t seeds = ranks <= 3 ? 150 : ranks == 4 ? 80 : ranks <= 8 ? 18 : ranks <= 12 ? 5 : 2;
  return full() ? seeds * 20 : seeds;
}

class Worlds : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(Worlds, RunEveryKernelRightInEverySchedule) {
  const auto [ranks, blocks] = GetParam();
  if (kReduced && ranks > 4 && blocks != 1 + ranks % 3) GTEST_SKIP() << "one block count a world under a sanitizer";
  Work work;
  work.pins.blocks = blocks;
  const std::uint64_t seeds = seeds_for(ranks);
  for (int k = 0; k < kKernels; ++k) {
    const auto kernel = static_cast<Kernel>(k);
    if (kernel == Kernel::recv) continue;  // the other end of each send
    // Other combinations in each world.
    const std::uint64_t first = 1 + static_cast<std::uint64_t>(ranks * kMostBlocks + blocks) * seeds;
    work.groups.push_back({.kernel = kernel, .ranks = ranks, .first_seed = first, .seeds = seeds});
  }
  const Result result = run_work(work, [](const Group&, std::uint64_t) {});
  for (const Found& found : result.found) ADD_FAILURE() << text_of(found) << "again: " << command_for(found, {});
  for (std::size_t i = 0; i < work.groups.size(); ++i)
    EXPECT_EQ(result.done[i].schedules, seeds) << tutti::name_of(*work.groups[i].kernel);
}

INSTANTIATE_TEST_SUITE_P(Of, Worlds, testing::Combine(testing::Range(2, 17), testing::Values(1, 2, 3)),
                         [](const auto& world) {
                           return std::to_string(std::get<0>(world.param)) + "RanksOf" +
                                  std::to_string(std::get<1>(world.param)) + "Blocks";
                         });

}  // namespace
}  // namespace tutti::model
