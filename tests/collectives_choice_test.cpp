// What a communicator says that a call would use, and that a call that cannot be served is refused alike on all ranks.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/collectives_kinds.hpp"
#include "tests/collectives_outcomes.hpp"
#include "tests/collectives_trial.hpp"

namespace tutti {
namespace {

using test::Kind;
using test::Outcome;
using test::outcome_of;

/// Steps and bytes as docs/algorithms.md has them, for `bytes` of one rank's share (of all data where all have all).
struct Known {
  Collective collective;
  Algorithm algorithm;
  int (*steps)(int n);
  double (*bytes)(double n, double bytes);
};
int log2_up(int n) {
  int steps = 0;
  while (1 << steps < n) ++steps;
  return steps;
}
const Known kKnown[] = {
    {Collective::all_reduce, Algorithm::packets, [](int) { return 1; }, [](double n, double b) { return (n - 1) * b; }},
    {Collective::all_reduce, Algorithm::ring, [](int n) { return 1 + 2 * (n - 1); },
     [](double n, double b) { return 2 * (n - 1) / n * b; }},
    {Collective::all_gather, Algorithm::ring, [](int n) { return 1 + n - 1; },
     [](double n, double b) { return (n - 1) * b; }},
    {Collective::reduce_scatter, Algorithm::ring, [](int n) { return 1 + n - 1; },
     [](double n, double b) { return (n - 1) * b; }},
    {Collective::all_to_all, Algorithm::packets, [](int) { return 1; }, [](double n, double b) { return (n - 1) * b; }},
    {Collective::barrier, Algorithm::dissemination, log2_up, [](double, double) { return 0.0; }},
};

TEST(Choices, SayWhatTheFormulasSay) {
  for (const int ranks : {2, 3, 5, 8}) {
    test::on_threads(ranks, [](Session& session) {
      Communicator comm = session.communicator();
      const int n = session.size();
      for (const Known& known : kKnown) {
        const test::Case c{.collective = known.collective};
        const std::size_t share = 840 * sizeof(float);  // divisible by all n
        const std::size_t bytes = share * (c.spreads() ? static_cast<std::size_t>(n) : 1);
        const Choice choice =
            comm.choice(known.collective, bytes, DataType::f32, ReduceOp::sum, {.algorithm = known.algorithm});
        EXPECT_EQ(choice.algorithm, known.algorithm);
        EXPECT_TRUE(choice.reason.starts_with("asked for")) << choice.reason;
        EXPECT_EQ(choice.steps, known.steps(n))
            << name_of(known.collective) << " by " << name_of(known.algorithm) << ", " << n << " ranks";
        EXPECT_NEAR(choice.wire_bytes, known.bytes(n, static_cast<double>(share)), 0.5)
            << name_of(known.collective) << " by " << name_of(known.algorithm) << ", " << n << " ranks";
      }
    });
  }
}

TEST(Choices, AreMadeForEveryCallAndAreThoseOfTheCall) {
  test::on_threads(3, [](Session& session) {
    Communicator comm = session.communicator();
    for (const Kind& kind : test::all_kinds())
      for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{1} << 20}) {
        test::Case c;
        c.collective = kind.collective;
        c.algorithm = kind.algorithm;
        c.count = count;
        const std::size_t bytes = count * sizeof(float) * (c.spreads() ? 3 : 1);
        Choice choice;
        const Outcome outcome = outcome_of([&] {
          choice = comm.choice(kind.collective, bytes, DataType::f32, ReduceOp::sum, {.algorithm = kind.algorithm});
        });
        SCOPED_TRACE(testing::Message() << c);
        EXPECT_EQ(outcome.threw, c.refused()) << outcome.what;
        if (outcome.threw) continue;
        EXPECT_FALSE(choice.reason.empty());
        if (kind.algorithm != Algorithm::automatic) {
          EXPECT_EQ(choice.algorithm, kind.algorithm);
        }
        EXPECT_NE(choice.algorithm, Algorithm::automatic);
        EXPECT_GE(choice.steps, 1);
        EXPECT_TRUE(std::isfinite(choice.wire_bytes) && choice.wire_bytes >= 0) << choice.wire_bytes;
        if (count > 0 && kind.collective != Collective::barrier) {
          EXPECT_GT(choice.wire_bytes, 0);
        }
        // Whoever is asked says the same.
        const auto all =
            session.bootstrap_all_gather(std::array{static_cast<double>(choice.algorithm), choice.wire_bytes});
        for (const auto& theirs : all) EXPECT_EQ(theirs, all[0]);
      }
  });
}

TEST(Choices, OfOneRankMoveNothing) {
  test::on_threads(1, [](Session& session) {
    Communicator comm = session.communicator();
    const Choice choice = comm.choice(Collective::all_reduce, 1 << 20, DataType::f32, ReduceOp::sum);
    EXPECT_EQ(choice.steps, 0);
    EXPECT_EQ(choice.wire_bytes, 0);
  });
}

/// Small calls go by packets, large ones otherwise.
TEST(Choices, FollowTheSizeAlone) {
  test::on_threads(4, [](Session& session) {
    Communicator comm = session.communicator();
    for (int collective = 0; collective < kCollectives; ++collective) {
      const auto c = static_cast<Collective>(collective);
      if (Request{.collective = c}.is_message() || c == Collective::barrier) continue;
      EXPECT_EQ(comm.choice(c, 64, DataType::f32, ReduceOp::sum).algorithm, Algorithm::packets) << name_of(c);
      EXPECT_NE(comm.choice(c, 64 << 20, DataType::f32, ReduceOp::sum).algorithm, Algorithm::packets) << name_of(c);
    }
  });
}

/// Every algorithm that does not exist for a collective, as call and as question.
TEST(Algorithms, OfOtherCollectivesAreRefusedOnAllRanks) {
  test::on_threads(3, [](Session& session) {
    Communicator comm = session.communicator();
    test::Ground ground(comm, 4096);
    for (int collective = 0; collective < kCollectives; ++collective) {
      const auto c = static_cast<Collective>(collective);
      if (c == Collective::recv) continue;
      const std::vector<Algorithm> known = test::algorithms_for(c);
      for (int algorithm = 1; algorithm < kAlgorithms; ++algorithm) {
        const auto a = static_cast<Algorithm>(algorithm);
        if (std::find(known.begin(), known.end(), a) != known.end()) continue;
        test::Case bad;
        bad.collective = c;
        bad.algorithm = a;
        bad.count = 5;
        const Outcome asked =
            outcome_of([&] { (void)comm.choice(c, 60, DataType::f32, ReduceOp::sum, {.algorithm = a}); });
        const Outcome called = outcome_of([&] { test::Trial(comm, ground, bad).run(); });
        for (const Outcome& outcome : {asked, called}) {
          EXPECT_TRUE(outcome.threw && outcome.code == ErrorCode::unsupported) << name_of(c) << " by " << name_of(a);
          EXPECT_TRUE(test::holds(outcome.what, name_of(a)) && test::holds(outcome.what, name_of(known[0])))
              << outcome.what;
        }
      }
    }
    test::use(comm);
  });
}

/// What cannot be served for its size, its type or a deterministic communicator.
TEST(Algorithms, ThatCannotServeACallAreRefusedOnAllRanks) {
  test::on_threads(3, [](Session& session) {
    // Rank 0's wish holds for all.
    Communicator comm = session.communicator(), strict = session.communicator({.deterministic = session.rank() == 0});
    test::Ground ground(comm, 1 << 20);
    int refusals = 0;
    const auto expect_refused = [&](Communicator& where, test::Case c, const char* says) {
      const Outcome outcome = outcome_of([&] {
        test::Trial trial(where, ground, c);
        if (!c.async) return trial.run();
        trial.start();
        trial.finish();
      });
      EXPECT_TRUE(outcome.threw && outcome.code == ErrorCode::unsupported) << c << ": " << outcome.what;
      EXPECT_TRUE(test::holds(outcome.what, says)) << outcome.what;
      const auto told = session.bootstrap_all_gather(int{outcome.threw});
      EXPECT_EQ(told, std::vector<int>(3, 1)) << c;
      ++refusals;
    };
    for (const Kind& kind : test::all_kinds()) {
      test::Case c;
      c.collective = kind.collective;
      c.algorithm = kind.algorithm;
      c.async = refusals % 2 == 0;
      if (kind.algorithm == Algorithm::packets) {
        c.type = DataType::i8;
        c.count = test::packet_bytes(1) + 1;
        expect_refused(comm, c, "8192");
        --c.count;
        test::try_case(comm, ground, c);
      }
      c.count = 20;
      if (!c.reduces_by_hops()) continue;
      c.type = DataType::bf16;
      c.op = ReduceOp::avg;
      expect_refused(comm, c, "cannot average bf16");
      c.type = DataType::i64;
      expect_refused(comm, c, "cannot average i64");
      c.op = ReduceOp::sum;
      expect_refused(strict, c, "deterministic");
      test::try_case(comm, ground, c);
    }
    EXPECT_GT(refusals, 20);
    test::use(comm);
    test::use(strict);
  });
}

}  // namespace
}  // namespace tutti
