// Sub-communicators: who is in them and in which order, that they live on their own, and calls on several communicators
// interleaved. Threads/... here, Processes/... under mpirun. Cites the rows of CASES that it covers (G3, H1, J1).
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>

#include "collectives/bootstrap.hpp"
#include "tests/collectives_kinds.hpp"
#include "tests/collectives_outcomes.hpp"
#include "tests/collectives_trial.hpp"
#include "tests/left_behind.hpp"

namespace tutti {
namespace {

using test::Case;
using test::on_job;
using test::Reached;

class Splits : public testing::TestWithParam<int> {};

/// Every member's rank in `parent`, in the order of `comm`; checks that all-reduce and gather agree on it.
void expect_members(Communicator& parent, Communicator& comm, const std::vector<int>& members) {
  const auto n = members.size();
  ASSERT_EQ(comm.size(), static_cast<int>(n)) << "rank " << parent.rank();
  ASSERT_EQ(members[static_cast<std::size_t>(comm.rank())], parent.rank());
  const int mine = parent.rank();
  std::vector<int> all(n, -1), sum(n, -1), ones(n, mine);
  comm.all_gather(&mine, all.data(), 1);
  EXPECT_EQ(all, members) << "rank " << mine;
  comm.all_reduce(ones.data(), sum.data(), n, ReduceOp::sum);
  EXPECT_EQ(sum, std::vector<int>(n, std::accumulate(members.begin(), members.end(), 0))) << "rank " << mine;
}

/// G3: equal keys leave the old order, others give the new one; groups of one and of all; a split of a split.
TEST_P(Splits, OrderTheRanksOfAColorByKeyThenByOldRank) {
  on_job(GetParam(), [](Session& session) {
    Communicator world = session.communicator();
    const int me = world.rank(), n = world.size();
    std::vector<int> all, backwards, same_parity;
    for (int r = 0; r < n; ++r) {
      all.push_back(r);
      backwards.insert(backwards.begin(), r);
      if (r % 2 == me % 2) same_parity.push_back(r);
    }
    Communicator ties = world.split(7, 5);
    expect_members(world, ties, all);
    Communicator reversed = world.split(0x7fffffff, -me);
    expect_members(world, reversed, backwards);
    Communicator parity = world.split(me % 2, 3);
    expect_members(world, parity, same_parity);
    Communicator alone = world.split(me, 0);
    expect_members(world, alone, {me});
    Communicator again = reversed.split(me % 2, reversed.rank());
    expect_members(world, again, std::vector<int>(same_parity.rbegin(), same_parity.rend()));
    // Ranks 0 and 1 first, then the others, backwards.
    Communicator mixed = world.split(0, me < 2 ? -100 : n - me);
    std::vector<int> order;
    for (int r = 0; r < std::min(n, 2); ++r) order.push_back(r);
    for (int r = n - 1; r >= 2; --r) order.push_back(r);
    expect_members(world, mixed, order);
  });
}

/// G3: who stays out gets an empty communicator, which refuses every call in words.
TEST_P(Splits, LeaveOutWhoGivesNoColor) {
  on_job(GetParam(), [](Session& session) {
    Communicator world = session.communicator();
    const bool out = world.rank() == world.size() - 1;
    Communicator group = world.split(out ? Communicator::kNoColor : 3, 0);
    float x[4] = {1, 2, 3, 4};
    if (out) {
      const std::pair<const char*, std::function<void()>> calls[] = {
          {"rank", [&] { (void)group.rank(); }},
          {"all_reduce", [&] { group.all_reduce(x, x, 4, ReduceOp::sum); }},
          {"gather", [&] { group.gather_async(x, x, 1, 0).wait(); }},
          {"split", [&] { (void)group.split(0, 0); }},
          {"allocate", [&] { (void)group.allocate<int>(1); }},
          {"register_memory", [&] { (void)group.register_memory(x, 16); }},
          {"copy", [&] { group.copy(x, x + 2, 4); }}};
      for (const auto& [name, call] : calls) {
        const test::Outcome outcome = test::outcome_of(call);
        EXPECT_TRUE(outcome.threw && outcome.code == ErrorCode::invalid_argument) << name;
        EXPECT_TRUE(test::holds(outcome.what, name) && test::holds(outcome.what, "empty")) << outcome.what;
      }
    } else {
      group.all_reduce(x, x, 4, ReduceOp::sum);
      EXPECT_EQ(x[3], 4.0f * static_cast<float>(group.size()));
    }
    Communicator nobody = world.split(Communicator::kNoColor, 0);
    EXPECT_TRUE(test::outcome_of([&] { nobody.barrier(); }).threw);
    test::use(world);
  });
}

/// G3: colors that do not fit are refused on all ranks alike, whichever rank gives one, and nothing is changed.
TEST_P(Splits, RefuseColorsThatDoNotFitOnAllRanks) {
  on_job(GetParam(), [](Session& session) {
    Communicator world = session.communicator();
    for (const std::int64_t bad : {std::int64_t{1} << 31, std::int64_t{1} << 40, std::int64_t{-5},
                                   std::numeric_limits<std::int64_t>::min(), (std::int64_t{1} << 32) - 1}) {
      const int odd_one = static_cast<int>(static_cast<std::uint64_t>(bad) % 7) % world.size();
      for (const bool everyone : {false, true}) {
        // Some stay out: they are told too.
        const std::int64_t other = world.rank() % 2 == 0 ? 1 : Communicator::kNoColor;
        const test::Outcome outcome =
            test::outcome_of([&] { (void)world.split(everyone || world.rank() == odd_one ? bad : other, 0); });
        EXPECT_TRUE(outcome.threw && outcome.code == ErrorCode::invalid_argument) << "rank " << world.rank();
        EXPECT_TRUE(test::holds(outcome.what, std::to_string(bad))) << outcome.what;
        EXPECT_TRUE(test::holds(outcome.what, "rank " + std::to_string(everyone ? 0 : odd_one))) << outcome.what;
      }
    }
    Communicator good = world.split(0x7fffffff, 0);
    test::use(good);
    test::use(world);
  });
}

TEST_P(Splits, RefuseBadOptionsOnAllRanks) {
  on_job(GetParam(), [](Session& session) {
    Communicator world = session.communicator();
    const test::Outcome outcome = test::outcome_of([&] { (void)world.split(1, 0, {.blocks = 9}); });
    EXPECT_TRUE(outcome.threw && outcome.code == ErrorCode::invalid_argument) << outcome.what;
    // The first rank of each new communicator decides its options.
    Communicator group = world.split(0, -world.rank(), {.deterministic = world.rank() == world.size() - 1});
    float x[8] = {}, y[8];
    EXPECT_TRUE(
        test::outcome_of([&] { group.all_reduce(x, y, 8, ReduceOp::sum, {.algorithm = Algorithm::tree}); }).threw)
        << "rank " << world.rank();
    test::use(group);
  });
}

/// G3: children outlive their parent, and the reverse, in an order of its own on every rank; what a handle or a buffer
/// needs stays.
TEST_P(Splits, LiveAndEndInAnyOrder) {
  on_job(GetParam(), [](Session& session) {
    for (int round = 0; round < 12; ++round) {
      auto world = std::make_unique<Communicator>(session.communicator());
      auto child = std::make_unique<Communicator>(world->split(world->rank() % 2, 0, {.blocks = 1 + round % 3}));
      auto grandchild = std::make_unique<Communicator>(child->split(0, -child->rank()));
      Buffer<int> of_child = child->allocate<int>(30000);
      std::fill(of_child.begin(), of_child.end(), session.rank());
      const int n = grandchild->size();
      int expected = 0;
      for (int r = session.rank() % 2; r < session.size(); r += 2) expected += r;
      Handle pending = grandchild->all_reduce_async(of_child.data(), of_child.data(), of_child.size(), ReduceOp::sum);
      if (round % 4 < 2) {
        for (Communicator* comm : {world.get(), child.get(), grandchild.get()}) test::use(*comm);
      }
      if (round % 3 == 0) pending.wait();  // else its handle keeps what it needs
      std::array<std::unique_ptr<Communicator>*, 3> all = {&world, &child, &grandchild};
      std::rotate(all.begin(), all.begin() + (session.rank() + round) % 3, all.end());
      if (round % 2 == 0) std::swap(all[1], all[2]);
      for (auto* comm : all) {
        session.bootstrap_barrier();
        comm->reset();
      }
      pending.wait();
      for (std::size_t i = 0; i < of_child.size(); ++i)
        ASSERT_EQ(of_child[i], expected) << "rank " << session.rank() << " of " << n << ", index " << i;
    }
    Communicator world = session.communicator();
    test::use(world);
  });
}

/// Buffers of the parent in calls of the child and the reverse: reached directly if all callers map them, else staged.
TEST_P(Splits, TakeBuffersOfEachOther) {
  on_job(GetParam(), [](Session& session) {
    Communicator world = session.communicator();
    const int me = world.rank(), n = world.size();
    // The other group exists too: its segments take the same indices of the session's table.
    Communicator child = world.split(me < (n + 1) / 2 ? 0 : 1, -me);
    Communicator pair = child.split(child.rank() / 2, 0);
    test::Ground of_world(world, 400 << 10), of_child(child, 400 << 10), of_pair(pair, 400 << 10);
    test::Ground again(world, 400 << 10);
    unsigned salt = 0;
    for (const test::Kind& kind : test::all_kinds())
      for (const std::size_t count : {std::size_t{3}, std::size_t{9000}}) {
        Communicator* const comms[] = {&world, &child, &pair};
        test::Ground* const grounds[] = {&of_world, &of_child, &of_pair, &again};
        for (Communicator* comm : comms)
          for (test::Ground* ground : grounds) {
            Case c;
            c.collective = kind.collective;
            c.algorithm = kind.algorithm;
            c.count = c.spreads() ? (count + 4) / 5 : count;
            c.type = DataType::i32;
            c.memory = static_cast<Reached>(++salt % test::kReached);
            c.salt = salt;
            c.root = static_cast<int>(salt) % comm->size();
            c.async = salt % 2 == 0;
            test::try_case(*comm, *ground, c);
          }
      }
  });
}

/// Rank 0 alone uses a buffer of the child in a call of the parent, the others one of the parent.
TEST_P(Splits, MixBuffersOfEachOtherInOneCall) {
  on_job(GetParam(), [](Session& session) {
    constexpr std::size_t kCount = 50000;
    Communicator world = session.communicator();
    Communicator child = world.split(world.rank() % 2, 0);
    const int n = world.size();
    auto of_world = world.allocate<int>(kCount), of_child = child.allocate<int>(kCount);
    for (int round = 0; round < 6; ++round) {
      auto& mine = (world.rank() + round) % 3 == 0 ? of_child : of_world;
      for (std::size_t i = 0; i < kCount; ++i) mine[i] = static_cast<int>(i) + world.rank() * round;
      world.all_reduce(mine.data(), mine.data(), kCount, ReduceOp::sum);
      for (std::size_t i = 0; i < kCount; ++i)
        ASSERT_EQ(mine[i], n * static_cast<int>(i) + round * n * (n - 1) / 2)
            << "rank " << world.rank() << ", index " << i << ", round " << round;
    }
  });
}

/// A communicator with memory and calls of its own that are outstanding.
struct Lane {
  Communicator comm;
  std::unique_ptr<test::Ground> ground;
  std::unique_ptr<test::Trial> trial;

  explicit Lane(Communicator made) : comm(std::move(made)) { ground = std::make_unique<test::Ground>(comm, kBytes); }
  void end() {
    if (!trial) return;
    trial->finish();
    trial->check();
    trial.reset();
  }
  static constexpr std::size_t kBytes = 160 << 10;
};

/// The calls that all ranks of a communicator make in a row, drawn alike on each.
Case draw_case(std::mt19937& random, int ranks, unsigned salt) {
  static const std::vector<test::Kind> kinds = test::all_kinds();
  const auto draw = [&](std::size_t below) { return static_cast<unsigned>(random() % below); };
  Case c;
  do {
    const test::Kind& kind = kinds[draw(kinds.size())];
    c.collective = kind.collective;
    c.algorithm = kind.algorithm;
    c.type = static_cast<DataType>(draw(kDataTypes));
    c.op = static_cast<ReduceOp>(draw(kReduceOps));
    const std::size_t bytes = draw(12) == 0 ? draw(Lane::kBytes) : draw(900);
    c.count = bytes / size_of(c.type) / (c.spreads() ? static_cast<std::size_t>(ranks) : 1);
  } while (c.refused());
  c.in_place = draw(2) == 0;
  c.memory = static_cast<Reached>(draw(test::kReached));
  c.async = draw(3) == 0;
  c.scribbles = true;
  c.root = static_cast<int>(draw(static_cast<unsigned>(ranks)));
  c.salt = salt;
  return c;
}

/// Rows and columns of a 2 x 3 grid, and all of it: blocking calls in an order that all ranks share, so that none can
/// wait in a circle; asynchronous ones end in an order of its own on every rank.
TEST(ThreadGrids, OfRowsAndColumnsMayBeInterleaved) {
  constexpr int kCalls = test::kSanitized ? 400 : 4000;
  test::on_threads(6, [](Session& session) {
    Communicator world = session.communicator();
    const int row = world.rank() / 3, column = world.rank() % 3;
    std::array<Lane, 3> lanes = {Lane(world.split(row, column)), Lane(world.split(column, -row, {.blocks = 2})),
                                 Lane(world.split(0, world.rank()))};
    // One generator per communicator, seeded alike on its ranks only; another says whose turn it is.
    std::mt19937 draws[] = {std::mt19937(static_cast<unsigned>(10 + row)),
                            std::mt19937(static_cast<unsigned>(20 + column)), std::mt19937(30)};
    std::mt19937 turns(5), own(static_cast<unsigned>(world.rank()));
    for (unsigned call = 0; call < kCalls; ++call) {
      const std::size_t turn = turns() % 3;
      Lane& lane = lanes[turn];
      lane.end();
      Case c = draw_case(draws[turn], lane.comm.size(), call);
      c.most_packets = test::packet_bytes(turn == 1 ? 2 : 1);
      if (c.refused()) continue;
      lane.trial = std::make_unique<test::Trial>(lane.comm, *lane.ground, c);
      if (c.async) {
        lane.trial->start();
        if (own() % 4 == 0) lanes[own() % 3].end();
      } else {
        lane.trial->run();
        lane.trial->check();
        lane.trial.reset();
      }
    }
    for (Lane& lane : lanes) lane.end();
  });
}

/// Asynchronous calls on several communicators may start in another order on every rank: nothing waits in a circle.
TEST(ThreadGrids, StartCallsOfSeveralCommunicatorsInAnyOrder) {
  test::on_threads(4, [](Session& session) {
    Communicator world = session.communicator();
    std::vector<Communicator> comms;
    for (int i = 0; i < 3; ++i) comms.push_back(world.split(0, i % 2 == 0 ? world.rank() : -world.rank()));
    std::mt19937 own(static_cast<unsigned>(session.rank()) + 1);
    constexpr std::size_t kCount = 20000;
    std::vector<std::vector<int>> data(3, std::vector<int>(kCount));
    for (int round = 0; round < (test::kSanitized ? 20 : 200); ++round) {
      std::array<std::size_t, 3> order = {0, 1, 2};
      std::shuffle(order.begin(), order.end(), own);
      std::vector<Handle> handles(3);
      for (const std::size_t i : order) {
        std::fill(data[i].begin(), data[i].end(), session.rank() + static_cast<int>(i) + round);
        handles[i] =
            comms[i].all_reduce_async(data[i].data(), data[i].data(), round % 2 == 0 ? kCount : 5, ReduceOp::sum);
      }
      std::shuffle(order.begin(), order.end(), own);
      for (const std::size_t i : order) handles[i].wait();
      for (std::size_t i = 0; i < 3; ++i)
        ASSERT_EQ(data[i][0], 6 + 4 * (static_cast<int>(i) + round))
            << "rank " << session.rank() << ", round " << round;
    }
  });
}

/// J1: eight communicators over the same ranks at once, all with calls in flight.
TEST(ManyCommunicators, WorkAtOnce) {
  constexpr int kCommunicators = 8, kCalls = test::kSanitized ? 100 : 1000;
  for (const int ranks : {2, 4}) {
    test::on_threads(ranks, [](Session& session) {
      std::vector<std::unique_ptr<Lane>> lanes;
      for (int i = 0; i < kCommunicators; ++i)
        lanes.push_back(std::make_unique<Lane>(session.communicator({.blocks = 1 + i % 2})));
      std::mt19937 shared(3);
      for (unsigned call = 0; call < kCalls; ++call)
        for (int i = 0; i < kCommunicators; ++i) {
          Lane& lane = *lanes[static_cast<std::size_t>(i)];
          lane.end();
          Case c = draw_case(shared, session.size(), call);
          c.most_packets = test::packet_bytes(1 + i % 2);
          if (c.refused()) continue;
          lane.trial = std::make_unique<test::Trial>(lane.comm, *lane.ground, c);
          lane.trial->start();
        }
      for (auto& lane : lanes) lane->end();
    });
  }
}

/// What this process holds, taken while no rank does anything.
struct Held {
  std::size_t descriptors, mappings, resident;
};
Held held(Session& session) {
  session.bootstrap_barrier();
  Held held{test::open_descriptors(), test::mappings(), test::resident_bytes()};
  session.bootstrap_barrier();
  return held;
}

/// H1: a thousand splits, each used once and destroyed, leave nothing behind.
TEST_P(Splits, ThatAreDestroyedLeaveNothing) {
  // Processes that share few cores take a hundred times as long.
  const bool slow = GetParam() == test::kProcessRanks && !test::full();
  const int rounds = test::kSanitized ? 50 : slow ? 150 : 1000;
  on_job(GetParam(), [rounds](Session& session) {
    Communicator world = session.communicator();
    const auto round = [&](int number) {
      Communicator child = world.split(world.rank() % 2 == number % 2 ? 1 : 2, number % 3 == 0 ? -world.rank() : 0);
      Buffer<int> buffer = child.allocate<int>(5000);
      std::fill(buffer.begin(), buffer.end(), 1 + number);
      child.all_reduce(buffer.data(), buffer.data(), buffer.size(), ReduceOp::sum);
      ASSERT_EQ(buffer[4999], child.size() * (1 + number)) << "rank " << world.rank() << ", round " << number;
    };
    for (int i = 0; i < 10; ++i) round(i);
    const Held before = held(session);
    for (int i = 10; i < rounds; ++i) round(i);
    const Held after = held(session);
    // Ranks that are threads list the descriptors at the same time, each by one of its own; malloc may map an arena
    // and a stack or two.
    EXPECT_LE(after.descriptors, before.descriptors + 8) << "rank " << session.rank();
    EXPECT_LE(after.mappings, before.mappings + 24) << "rank " << session.rank();
    if (!test::kSanitized) {
      EXPECT_LT(after.resident, before.resident + (24u << 20)) << "rank " << session.rank();
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Threads, Splits, testing::Values(1, 2, 3, 6), testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Processes, Splits, testing::Values(test::kProcessRanks), [](const auto&) { return "mpi"; });

}  // namespace
}  // namespace tutti
