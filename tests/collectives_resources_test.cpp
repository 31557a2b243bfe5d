// What communicators, buffers and calls cost, and that they give it back. Threads/... here, Processes/... under mpirun.
#include <gtest/gtest.h>

#include "tests/collectives_kinds.hpp"
#include "tests/collectives_trial.hpp"
#include "tests/left_behind.hpp"

namespace tutti {
namespace {

using test::on_job;

class Jobs : public testing::TestWithParam<int> {};

/// What this process holds, taken while no rank does anything.
struct Held {
  std::size_t descriptors, mappings, bytes, resident;
};
Held held(Session& session) {
  session.bootstrap_barrier();
  Held held{test::open_descriptors(), test::mappings(), test::mapped_bytes(), test::resident_bytes()};
  session.bootstrap_barrier();
  return held;
}

/// H1 of CASES.
TEST_P(Jobs, MakeAndDestroyCommunicatorsWithoutGrowth) {
  // Processes that share few cores take a hundred times as long.
  const bool slow = GetParam() == test::kProcessRanks && !test::full();
  const int rounds = test::kSanitized ? 60 : slow ? 200 : 1000;
  on_job(GetParam(), [rounds](Session& session) {
    const auto round = [&](int number) {
      Communicator comm = session.communicator({.blocks = 1 + number % 3});
      auto buffer = comm.allocate<int>(20000);
      for (int i = 0; i < 20000; ++i) buffer[static_cast<std::size_t>(i)] = session.rank() + i + number;
      Handle handle = comm.all_reduce_async(buffer.data(), buffer.data(), buffer.size(), ReduceOp::max);
      if (number % 2 == 0) handle.wait();  // else the handle outlives the communicator's last use
      comm.barrier();
      for (int i = 0; i < 20000; i += 997)
        EXPECT_EQ(buffer[static_cast<std::size_t>(i)], session.size() - 1 + i + number) << "rank " << session.rank();
    };
    for (int i = 0; i < 10; ++i) round(i);
    const Held before = held(session);
    for (int i = 10; i < rounds; ++i) round(i);
    const Held after = held(session);
    // Ranks that are threads list the descriptors at the same time, each by one of its own; malloc may map an arena
    // for a thread, and reserves 64 MiB of addresses then. A lost arena or buffer per round would be far more.
    EXPECT_LE(after.descriptors, before.descriptors + 8) << "rank " << session.rank();
    EXPECT_LE(after.mappings, before.mappings + 24) << "rank " << session.rank();
    if (!test::kSanitized) {
      EXPECT_LT(after.bytes, before.bytes + (320u << 20)) << "rank " << session.rank();
      EXPECT_LT(after.resident, before.resident + (24u << 20)) << "rank " << session.rank();
    }
    EXPECT_EQ(test::segment_mappings(), 0u) << "rank " << session.rank();
  });
}

TEST_P(Jobs, MoveNoDataThroughTheBootstrap) {
  on_job(GetParam(), [](Session& session) {
    Communicator comm = session.communicator({.blocks = 2});
    test::Ground ground(comm, 1 << 20);
    const std::uint64_t before = session.bootstrap_bytes();
    EXPECT_GT(before, 0u);
    unsigned salt = 0;
    for (const test::Kind& kind : test::all_kinds())
      for (const test::Reached memory : {test::Reached::peer_mapped, test::Reached::any})
        for (const std::size_t count : {std::size_t{1}, std::size_t{4000}, std::size_t{30000}})
          for (const bool async : {false, true}) {
            test::Case c;
            c.collective = kind.collective;
            c.algorithm = kind.algorithm;
            c.memory = memory;
            c.count = count;
            c.async = async;
            c.most_packets = test::packet_bytes(2);
            c.salt = ++salt;
            test::try_case(comm, ground, c);
          }
    EXPECT_EQ(session.bootstrap_bytes(), before) << "rank " << session.rank();
  });
}

TEST_P(Jobs, OutliveBuffersAndCommunicatorsInAnyOrder) {
  on_job(GetParam(), [](Session& session) {
    Buffer<int> survivor;
    Handle pending;
    {
      Communicator comm = session.communicator();
      survivor = comm.allocate<int>(1000);
      std::fill(survivor.begin(), survivor.end(), session.rank());
      pending = comm.all_reduce_async(survivor.data(), survivor.data(), survivor.size(), ReduceOp::sum);
    }
    pending.wait();
    EXPECT_EQ(survivor[999], session.size() * (session.size() - 1) / 2) << "rank " << session.rank();
    Communicator other = session.communicator();
    other.broadcast(survivor.data(), survivor.size(), 0);
  });
}

/// Rank 0 uses one buffer, the others another, and then destroy theirs of the first while their threads copy from and
/// to rank 0's share of it.
TEST_P(Jobs, KeepABufferForTheCallsThatStartedBeforeItsEnd) {
  on_job(GetParam(), [](Session& session) {
    constexpr std::size_t kCount = 1 << 20;
    const int n = session.size();
    Communicator comm = session.communicator(), other = session.communicator();
    for (int round = 0; round < 4; ++round) {
      auto first = comm.allocate<int>(kCount), second = comm.allocate<int>(kCount);
      auto& mine = session.rank() == 0 ? first : second;
      for (std::size_t i = 0; i < kCount; ++i) mine[i] = static_cast<int>(i) + session.rank() + round;
      const auto start = [&] { return comm.all_reduce_async(mine.data(), mine.data(), kCount, ReduceOp::sum); };
      Handle handle;
      if (session.rank() == 0 && round % 2 == 0) {  // the others have destroyed theirs before they learn of this one
        session.bootstrap_barrier();
        handle = start();
      } else {
        handle = start();
        if (session.rank() != 0) first = {};
        if (round % 2 == 0) session.bootstrap_barrier();
      }
      handle.wait();
      for (std::size_t i = 0; i < kCount; ++i)
        ASSERT_EQ(mine[i], n * (static_cast<int>(i) + round) + n * (n - 1) / 2)
            << "rank " << session.rank() << ", index " << i;
      session.bootstrap_barrier();
      if (round < 3 || n == 1) continue;
      // No call is in flight now, so it is gone.
      try {
        other.all_reduce(mine.data(), mine.data(), kCount, ReduceOp::sum);
        ADD_FAILURE() << "rank " << session.rank() << " reached what its peers have destroyed";
      } catch (const Error& error) {
        const std::string what = error.what();
        EXPECT_TRUE(what.find("failed first") != std::string::npos ||
                    (session.rank() > 0 && what.find("destroyed") != std::string::npos))
            << what;
      }
      session.bootstrap_barrier();
    }
  });
}

TEST_P(Jobs, GiveZeroedAlignedMemory) {
  on_job(GetParam(), [](Session& session) {
    Communicator comm = session.communicator();
    const auto own = static_cast<std::size_t>(session.rank()) * 5000;
    for (int round = 0; round < 3; ++round) {
      auto buffer = comm.allocate<std::uint64_t>(own);
      ASSERT_EQ(buffer.size(), own);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % (2 << 20), 0u);
      for (std::size_t i = 0; i < own; ++i) ASSERT_EQ(buffer[i], 0u) << "rank " << session.rank() << ", index " << i;
      std::fill(buffer.begin(), buffer.end(), ~std::uint64_t{0});
      comm.barrier();
    }
  });
}

TEST_P(Jobs, ReuseTheIndicesOfDestroyedBuffers) {
  on_job(GetParam(), [](Session& session) {
    Communicator comm = session.communicator();
    for (int i = 0; i < 1100; ++i) {  // more than are alive at once
      auto buffer = comm.allocate<char>(1);
      ASSERT_NE(buffer.data(), nullptr);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Threads, Jobs, testing::Values(1, 3), testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Processes, Jobs, testing::Values(test::kProcessRanks), [](const auto&) { return "mpi"; });

TEST(Arenas, AreSmall) {
  test::on_threads(8, [](Session& session) {
    for (int blocks = 1; blocks <= 4; ++blocks)
      EXPECT_LE(session.communicator({.blocks = blocks}).arena_bytes(), 4u << 20) << blocks << " blocks";
  });
}

}  // namespace
}  // namespace tutti
