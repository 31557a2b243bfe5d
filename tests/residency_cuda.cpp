// Whether the blocks of all communicators fit a GPU: arithmetic, which needs none.
#include "collectives/residency_cuda.hpp"

#include <gtest/gtest.h>

namespace tutti::detail {
namespace {

constexpr int kMostCollective = 32, kMostMessage = 8;
Blocks part(int free, int ranks) { return part_of(free, ranks, kMostCollective, kMostMessage); }

TEST(Residency, OfAnyCommunicatorsNeverExceedsTheGpu) {
  for (int gpu = 1; gpu <= 160; ++gpu)
    for (int ranks = 2; ranks <= 16; ++ranks) {
      int free = gpu;
      for (Blocks next = part(free, ranks); next.collective > 0; next = part(free, ranks)) {
        EXPECT_GE(next.message, 1) << gpu << " blocks, " << ranks << " ranks";
        EXPECT_LE(next.message, next.collective) << gpu << " blocks, " << ranks << " ranks";
        EXPECT_LE(next.collective, kMostCollective);
        free -= next.of(ranks);
        ASSERT_GE(free, 0) << gpu << " blocks, " << ranks << " ranks";
      }
      EXPECT_LT(free, 1 + 2 * (ranks - 1)) << "a communicator of " << ranks << " was refused though it fitted " << gpu;
    }
}

TEST(Residency, LetsTheFirstCommunicatorOfAWholeGpuHaveWhatItCanUse) {
  const Blocks first = part(132, 8);  // an H100
  EXPECT_EQ(first.collective, 32);
  EXPECT_EQ(first.message, 2);
}

TEST(Residency, LeavesRoomForSeveralCommunicators) {
  int free = 132, count = 0;
  for (Blocks next = part(free, 4); next.collective > 0; next = part(free, 4), ++count) free -= next.of(4);
  EXPECT_GE(count, 5);
  // Four ranks on one GPU.
  EXPECT_GT(part(132 / 4, 4).collective, 0);
}

TEST(Residency, OfOneRankOrTooFewBlocksIsNone) {
  EXPECT_EQ(part(2, 2).collective, 0);
  EXPECT_EQ(part(3, 2).collective, 1);
  EXPECT_EQ(part(14, 8).collective, 0);
  EXPECT_EQ(part(15, 8).collective, 1);
}

}  // namespace
}  // namespace tutti::detail
