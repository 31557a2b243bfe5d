// Which GPU each rank takes, whatever the ranks see.
#include "collectives/gpu_placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tutti {
namespace {

GpuId gpu(int number) {
  GpuId id{};
  id[15] = static_cast<unsigned char>(number);
  return id;
}

/// Places ranks that see the given GPUs, by their physical numbers; returns the physical numbers of those they take.
std::vector<int> taken(const std::vector<std::vector<int>>& seen) {
  std::vector<std::vector<GpuId>> visible;
  for (const auto& list : seen) {
    visible.emplace_back();
    for (const int number : list) visible.back().push_back(gpu(number));
  }
  const std::vector<int> placed = place_ranks(visible);
  std::vector<int> physical;
  for (std::size_t r = 0; r < seen.size(); ++r) physical.push_back(seen[r][static_cast<std::size_t>(placed[r])]);
  return physical;
}

TEST(GpuPlacement, GivesRankRGpuRWhereAllSeeTheSame) {
  EXPECT_EQ(taken({{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}}), (std::vector{0, 1, 2, 3}));
  EXPECT_EQ(taken({{3, 1, 0, 2}, {3, 1, 0, 2}, {3, 1, 0, 2}}), (std::vector{3, 1, 0}));
}

TEST(GpuPlacement, TakesTheOnlyOneThatARankSees) { EXPECT_EQ(taken({{5}, {2}, {7}}), (std::vector{5, 2, 7})); }

TEST(GpuPlacement, LetsNoTwoShareWhereEachCanHaveItsOwn) {
  // By number alone ranks 0 and 1 would both take GPU 1.
  EXPECT_EQ(taken({{1, 0}, {0, 1}}), (std::vector{0, 1}));
  // Rank 1 sees only what rank 0 would take.
  EXPECT_EQ(taken({{0, 1}, {0}}), (std::vector{1, 0}));
  // A chain: each has to move for the next.
  EXPECT_EQ(taken({{0, 1}, {2, 1}, {2, 3}, {1}}), (std::vector{0, 2, 3, 1}));
}

TEST(GpuPlacement, SpreadsMoreRanksThanGpusEvenly) {
  EXPECT_EQ(taken({{0, 1}, {0, 1}, {0, 1}, {0, 1}}), (std::vector{0, 1, 0, 1}));
  const std::vector<int> five = taken({{0, 1}, {1, 0}, {0, 1}, {1, 0}, {0, 1}});
  EXPECT_LE(std::count(five.begin(), five.end(), 0), 3);
  EXPECT_LE(std::count(five.begin(), five.end(), 1), 3);
  EXPECT_EQ(taken({{0}, {0}, {0}}), (std::vector{0, 0, 0}));
}

TEST(GpuPlacement, CountsTheRanksOfAGpuByItsIdentity) {
  const std::vector<std::vector<GpuId>> visible{{gpu(4), gpu(6)}, {gpu(6)}, {gpu(6), gpu(4)}};
  const std::vector<int> placed{1, 0, 1};  // GPUs 6, 6 and 4
  EXPECT_EQ(ranks_beside(visible, placed, 0), 2);
  EXPECT_EQ(ranks_beside(visible, placed, 1), 2);
  EXPECT_EQ(ranks_beside(visible, placed, 2), 1);
}

}  // namespace
}  // namespace tutti
