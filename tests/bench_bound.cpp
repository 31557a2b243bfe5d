// What a call takes at least: what must move, from which rates, and that these are measured.
#include <gtest/gtest.h>

#include "bench/bound.hpp"
#include "bench/buffers.hpp"
#include "bench/limits.hpp"
#include "collectives/tutti.hpp"

namespace tutti::bench {
namespace {

Case call(Operation operation, int ranks, std::size_t bytes, bool in_place = false) {
  Case shape;
  shape.operation = operation;
  shape.ranks = ranks;
  shape.in_place = in_place;
  return case_of(bytes, shape);
}

constexpr std::size_t kMiB = std::size_t{1} << 20;

TEST(Bound, CountsWhatEachCoreMustGetFromOthers) {
  const auto crossing = [](Operation operation, int ranks, int cores) {
    return least_work(call(operation, ranks, kMiB), cores).crossing;
  };
  EXPECT_EQ(crossing(Operation::all_reduce, 2, 2), kMiB);
  EXPECT_EQ(crossing(Operation::all_reduce, 4, 4), kMiB * 3 / 2);
  EXPECT_EQ(crossing(Operation::reduce_scatter, 2, 2), kMiB / 2);
  EXPECT_EQ(crossing(Operation::all_gather, 4, 4), kMiB * 3 / 4);
  EXPECT_EQ(crossing(Operation::broadcast, 2, 2), kMiB / 2) << "both ends may copy";
  EXPECT_EQ(crossing(Operation::send_recv, 2, 2), kMiB / 2);
  EXPECT_EQ(crossing(Operation::gather, 2, 2), kMiB / 4);
  EXPECT_EQ(crossing(Operation::barrier, 2, 2), 0u);
  // Ranks of one core share its cache.
  EXPECT_EQ(crossing(Operation::all_reduce, 4, 2), kMiB);
  EXPECT_EQ(crossing(Operation::send_recv, 4, 2), 0u);
  EXPECT_EQ(crossing(Operation::all_reduce, 4, 1), 0u);
}

TEST(Bound, CountsTheSumsAndCopiesOfARank) {
  const LeastWork sums = least_work(call(Operation::all_reduce, 4, kMiB), 2);
  EXPECT_EQ(sums.sources, 4);
  EXPECT_EQ(sums.destinations, 4);
  EXPECT_EQ(sums.part, kMiB / 4);
  const LeastWork copies = least_work(call(Operation::all_gather, 4, kMiB), 4);
  EXPECT_EQ(copies.sources, 1);
  EXPECT_EQ(copies.destinations, 4);
  EXPECT_EQ(least_work(call(Operation::all_gather, 4, kMiB, true), 4).destinations, 3) << "its own part is there";
  EXPECT_EQ(least_work(call(Operation::all_reduce, 2, 4), 2).sources, 0) << "no whole element for each rank";
  EXPECT_EQ(least_work(call(Operation::barrier, 2, 0), 2).sources, 0);
}

TEST(Bound, IsOneExchangeForSmallCallsAndOneMoreForOthers) {
  const Rates rates{.exchange = 1e-7, .crossing = 4e-7, .local = 3e-7};
  EXPECT_DOUBLE_EQ(bound(call(Operation::barrier, 2, 0), 2, {.exchange = 1e-7}), 1e-7);
  EXPECT_DOUBLE_EQ(bound(call(Operation::all_reduce, 2, 8), 2, {.exchange = 1e-7, .crossing = 9e-8}), 1e-7);
  EXPECT_DOUBLE_EQ(bound(call(Operation::all_reduce, 2, 4096), 2, rates), 4e-7);
  EXPECT_DOUBLE_EQ(bound(call(Operation::all_reduce, 2, 8192), 2, rates), 5e-7);
  EXPECT_DOUBLE_EQ(bound(call(Operation::all_reduce, 1, 8192), 2, {.local = 3e-7}), 3e-7) << "one rank meets nobody";
}

TEST(Bound, OfMoreRanksThanCoresHasTheHandOversWhereEachRankWaitsForAll) {
  const Rates rates{.exchange = 1e-7, .hand_over = 1e-6};
  EXPECT_DOUBLE_EQ(bound(call(Operation::barrier, 4, 0), 2, rates), 1e-6);
  EXPECT_DOUBLE_EQ(bound(call(Operation::barrier, 5, 0), 2, rates), 2e-6);
  EXPECT_DOUBLE_EQ(bound(call(Operation::barrier, 4, 0), 4, rates), 1e-7);
  EXPECT_DOUBLE_EQ(bound(call(Operation::send_recv, 4, 8), 2, rates), 1e-7);
  EXPECT_DOUBLE_EQ(bound(call(Operation::broadcast, 4, 8), 2, rates), 0) << "who comes late finds all of it there";
}

TEST(Limits, AreMeasuredWithTheRanksOfTheRun) {
  for (int ranks : {1, 2, 5}) {
    std::vector<std::unique_ptr<Bootstrap>> bootstraps = thread_bootstraps(ranks);
    run_threads(ranks, [&](Session& session) {
      Bootstrap& bootstrap = *bootstraps[static_cast<std::size_t>(session.rank())];
      MeetingPoint meeting(bootstrap);
      OwnMemory in(kMiB), out(kMiB);
      const std::vector<Memory> memories = {{MemoryKind::any, in.data(), out.data()}};
      Limits limits(bootstrap, meeting, memories, kMiB);
      for (int operation = 0; operation < kOperations; ++operation) {
        if (static_cast<Operation>(operation) == Operation::send_recv && ranks < 2) continue;
        const Case large = call(static_cast<Operation>(operation), ranks, kMiB);
        const double least = limits.bound(large, MemoryKind::any, 100);
        // A core moves no more than 500 GB/s; and a MiB takes no second.
        const bool moves = !large.is(Operation::barrier) && !(large.is(Operation::broadcast) && ranks == 1);
        EXPECT_GE(least, moves ? kMiB / 20.0 / 500e9 : 0) << name_of(large.operation) << " of " << ranks;
        EXPECT_LT(least, 1) << name_of(large.operation) << " of " << ranks;
        EXPECT_EQ(limits.bound(large, MemoryKind::peer_mapped, 100), 0) << "no such memory in this run";
      }
      const std::vector<double> all = session.bootstrap_all_gather(
          limits.bound(call(Operation::all_reduce, ranks, 64 << 10), MemoryKind::any, 100));
      for (double each : all) EXPECT_EQ(each, all[0]) << "ranks disagree";
    });
  }
}

}  // namespace
}  // namespace tutti::bench
