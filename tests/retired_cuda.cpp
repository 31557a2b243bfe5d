// When a rank's share of device memory is let go of: bookkeeping, which needs no GPU.
#include "collectives/retired_cuda.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <vector>

#include "tests/jobs.hpp"

namespace tutti::detail {
namespace {

using Thing = RetiredMemory::Thing;

/// Something whose end is seen.
Thing watched(std::atomic<int>& alive) {
  ++alive;
  return {&alive, [](void* counter) { --*static_cast<std::atomic<int>*>(counter); }};
}

/// One rank's bookkeeping, and how many of its shares and mappings are still held.
struct Rank {
  std::atomic<int> shares = 0;
  std::atomic<int> mappings = 0;
  RetiredMemory memory;

  void retire(SegmentKey key, RankSet members) {
    memory.open(key);
    memory.retire(key, members, {.mappings = {watched(mappings)}, .share = watched(shares), .handed = {}});
  }
};

constexpr RankSet kThree = 0b111;
const std::vector<int> kAllThree{0, 1, 2};

TEST(RetiredMemory, IsFreedOnlyWhenEveryRankHasClosedIt) {
  test::run_job(3, [](Bootstrap& job) {
    Rank rank;
    const SegmentKey key{0, 1};
    rank.memory.open(key);
    if (job.rank() != 2) rank.retire(key, kThree);
    rank.memory.close();
    EXPECT_EQ(rank.mappings, 0) << "rank " << job.rank();
    rank.memory.free(job, kAllThree);
    EXPECT_EQ(rank.shares, job.rank() == 2 ? 0 : 1) << "rank " << job.rank() << ": rank 2 still maps it";
    if (job.rank() == 2) rank.retire(key, kThree);
    rank.memory.free(job, kAllThree);
    EXPECT_EQ(rank.shares, 1) << "rank " << job.rank() << ": rank 2 has not closed it";
    rank.memory.close();
    rank.memory.free(job, kAllThree);
    EXPECT_EQ(rank.shares, 0) << "rank " << job.rank();
  });
}

TEST(RetiredMemory, OfSomeRanksIsFreedByTheseThoughOthersNeverCome) {
  test::run_job(3, [](Bootstrap& job) {
    Rank rank;
    // More of all ranks than a rank asks for at once; rank 2 keeps them all.
    constexpr int kOld = 40;
    for (std::uint64_t serial = 1; serial <= kOld; ++serial) {
      if (job.rank() == 2)
        rank.memory.open({0, serial});
      else
        rank.retire({0, serial}, kThree);
    }
    const std::vector<int> pair = job.rank() == 2 ? std::vector<int>{} : std::vector{0, 1};
    const std::unique_ptr<Bootstrap> group = job.subgroup(pair);
    if (group) {
      for (std::uint64_t serial = 1; serial <= 100; ++serial) {
        rank.retire({1, serial}, 0b011);
        rank.memory.close();
        rank.memory.free(*group, pair);
      }
      EXPECT_EQ(rank.shares, kOld) << "rank " << job.rank();
    }
    // Rank 2 lets go at last; a few rounds free all.
    if (job.rank() == 2)
      for (std::uint64_t serial = 1; serial <= kOld; ++serial) rank.retire({0, serial}, kThree);
    for (int round = 0; round < 4; ++round) {
      rank.memory.close();
      rank.memory.free(job, kAllThree);
    }
    EXPECT_EQ(rank.shares, 0) << "rank " << job.rank();
  });
}

TEST(RetiredMemory, HandedToThreadsLivesAsLongAsAnyHoldsIt) {
  std::atomic<int> alive = 0;
  const Thing share = watched(alive);
  test::run_job(3, [&](Bootstrap& job) {
    RetiredMemory memory;
    memory.open({0, 1});
    memory.retire({0, 1}, kThree, {.mappings = {}, .share = nullptr, .handed = {share}});
    memory.close();
    EXPECT_EQ(share.use_count() > 1, true);
    memory.free(job, kAllThree);
    job.barrier();
    EXPECT_EQ(share.use_count(), 1) << "rank " << job.rank();
  });
}

TEST(RetiredMemory, KeepsOtherThingsUntilTheNextFree) {
  test::run_job(2, [](Bootstrap& job) {
    std::atomic<int> alive = 0;
    RetiredMemory memory;
    memory.keep(watched(alive));
    memory.close();
    EXPECT_EQ(alive, 1);
    memory.free(job, std::vector{0, 1});
    EXPECT_EQ(alive, 0);
  });
}

}  // namespace
}  // namespace tutti::detail
