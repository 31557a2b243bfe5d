// What is written by hand with send and recv gives what the collectives give.
#include <gtest/gtest.h>

#include <vector>

#include "bench/by_hand.hpp"
#include "bench/tensor.hpp"

namespace tutti::bench {
namespace {

// Calls `test` on every rank of several worlds, with counts that leave ranks empty or chunks uneven.
template <class F>
void in_worlds(F&& test) {
  for (int ranks : {1, 2, 3, 5})
    run_threads(ranks, [&](Session& session) {
      Communicator comm = session.communicator();
      for (std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{4}, std::size_t{257}, std::size_t{70000}}) {
        std::vector<float> start(count);
        for (std::size_t i = 0; i < count; ++i) start[i] = static_cast<float>((7 * i + 3 * comm.rank()) % 11);
        test(comm, start);
      }
    });
}

void expect_same(const Communicator& comm, const std::vector<float>& got, const std::vector<float>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(got[i], expected[i]) << "rank " << comm.rank() << " of " << comm.size() << " index " << i;
}

TEST(ByHand, BroadcastGivesEveryRankWhatTheRootHas) {
  in_worlds([](Communicator& comm, const std::vector<float>& start) {
    const int root = comm.size() - 1;
    Tensor by_hand(comm, start), collective(comm, start);
    broadcast_by_hand(comm, by_hand.data(), start.size(), root);
    comm.broadcast(collective.data(), start.size(), root);
    expect_same(comm, by_hand.values(), collective.values());
  });
}

TEST(ByHand, ReduceGivesTheRootTheSumAndLeavesTheOthers) {
  in_worlds([](Communicator& comm, const std::vector<float>& start) {
    const int root = comm.size() / 2;
    Tensor in(comm, start), by_hand(comm, start), collective(comm, start), theirs(comm, start.size());
    reduce_by_hand(comm, in.data(), by_hand.data(), theirs.data(), start.size(), root);
    comm.reduce(in.data(), collective.data(), start.size(), ReduceOp::sum, root);
    expect_same(comm, by_hand.values(), collective.values());
    expect_same(comm, in.values(), start);
  });
}

TEST(ByHand, AllGatherGivesEveryRankAllInRankOrder) {
  in_worlds([](Communicator& comm, const std::vector<float>& start) {
    const std::size_t all = start.size() * static_cast<std::size_t>(comm.size());
    Tensor in(comm, start), by_hand(comm, all), collective(comm, all);
    all_gather_by_hand(comm, in.data(), by_hand.data(), start.size());
    comm.all_gather(in.data(), collective.data(), start.size());
    expect_same(comm, by_hand.values(), collective.values());
  });
}

TEST(ByHand, AllReduceGivesEveryRankTheSumOfUnevenChunksToo) {
  in_worlds([](Communicator& comm, const std::vector<float>& start) {
    Tensor by_hand(comm, start), collective(comm, start);
    Tensor theirs(comm, start.size() / static_cast<std::size_t>(comm.size()) + 1);
    all_reduce_by_hand(comm, by_hand.data(), theirs.data(), start.size());
    comm.all_reduce(collective.data(), collective.data(), start.size(), ReduceOp::sum);
    expect_same(comm, by_hand.values(), collective.values());
  });
}

}  // namespace
}  // namespace tutti::bench
