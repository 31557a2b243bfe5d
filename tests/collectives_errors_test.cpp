// Ranks whose calls do not fit together all get an error in time that says which rank, which call and what differs; the
// rest of the session works on.
#include <gtest/gtest.h>

#include "tests/collectives_outcomes.hpp"

namespace tutti {
namespace {

using test::Calls;
using test::failures;
using test::holds;
using test::kLong;
using test::kShort;
using test::kSlack;
using test::Outcome;
using test::outcome_of;
using test::use;

struct Mismatch {
  const char* name;
  std::vector<std::string> says;
  Calls most;  ///< what ranks 0, 1 and 3 call
  Calls odd;   ///< what rank 2 calls
};

/// Memory for a call that must not be written outside: the call gets the middle.
template <class T>
struct Guarded {
  explicit Guarded(std::size_t count) : memory(count + 2 * kGuard, T(77)), count_(count) {}
  T* data() { return memory.data() + kGuard; }
  ~Guarded() {
    for (std::size_t i = 0; i < kGuard; ++i)
      EXPECT_TRUE(memory[i] == T(77) && memory[count_ + kGuard + i] == T(77)) << "guard " << i << " was overwritten";
  }
  static constexpr std::size_t kGuard = 64;
  std::vector<T> memory;
  std::size_t count_;
};

Calls reduces(std::size_t count, ReduceOp op = ReduceOp::sum, Algorithm algorithm = Algorithm::automatic) {
  return [=](Session&, Communicator& comm) {
    Guarded<float> in(count), out(count);
    comm.all_reduce(in.data(), out.data(), count, op, {.algorithm = algorithm});
  };
}
Calls reduces_as(DataType type, std::size_t count) {
  return [=](Session&, Communicator& comm) {
    Guarded<double> in(count), out(count);
    comm.all_reduce(in.data(), out.data(), count, type, ReduceOp::sum);
  };
}
Calls reduces_later(std::size_t count) {
  return [=](Session&, Communicator& comm) {
    Guarded<float> in(count), out(count);
    comm.all_reduce_async(in.data(), out.data(), count, ReduceOp::sum).wait();
  };
}
Calls gathers(std::size_t count) {
  return [=](Session&, Communicator& comm) {
    Guarded<float> in(count), out(count * 4);
    comm.all_gather(in.data(), out.data(), count);
  };
}
Calls scatters(std::size_t count) {
  return [=](Session&, Communicator& comm) {
    Guarded<float> in(count * 4), out(count);
    comm.reduce_scatter(in.data(), out.data(), count, ReduceOp::sum);
  };
}
Calls broadcasts(std::size_t count, int root) {
  return [=](Session&, Communicator& comm) {
    Guarded<float> data(count);
    comm.broadcast(data.data(), count, root);
  };
}
/// Rooted calls and all-to-all, of `count` elements for each rank.
Calls collects(Collective collective, std::size_t count, int root, Algorithm algorithm = Algorithm::automatic) {
  return [=](Session&, Communicator& comm) {
    Guarded<float> in(count * 4), out(count * 4);
    const Options options{.algorithm = algorithm};
    switch (collective) {
      case Collective::reduce: return comm.reduce(in.data(), out.data(), count, ReduceOp::sum, root, options);
      case Collective::gather: return comm.gather(in.data(), out.data(), count, root, options);
      case Collective::scatter: return comm.scatter(in.data(), out.data(), count, root, options);
      default: return comm.all_to_all(in.data(), out.data(), count, options);
    }
  };
}
Calls meets() {
  return [](Session&, Communicator& comm) { comm.barrier(); };
}
Calls both(Calls first, Calls second) {
  return [=](Session& session, Communicator& comm) {
    first(session, comm);
    second(session, comm);
  };
}

std::vector<Mismatch> mismatches() {
  return {
      {"counts of packets", {"100", "200"}, reduces(100), reduces(200)},
      {"counts of large calls", {"409600", "409598"}, reduces(409600), reduces(409598)},
      {"packets against slices", {"1 elements", "1000000"}, reduces(1), reduces(1000000)},
      {"slices against packets", {"1 elements", "1000000"}, reduces(1000000), reduces(1)},
      {"nothing against something", {"0 elements", "5 elements"}, reduces(5), reduces(0)},
      {"types of packets", {"f32", "i32"}, reduces_as(DataType::f32, 50), reduces_as(DataType::i32, 50)},
      {"types of large calls", {"f64", "i64"}, reduces_as(DataType::f64, 50000), reduces_as(DataType::i64, 50000)},
      {"ops of packets", {"sum", "max"}, reduces(10), reduces(10, ReduceOp::max)},
      {"ops of large calls", {"sum", "avg"}, reduces(100000), reduces(100000, ReduceOp::avg)},
      {"algorithms",
       {"ring", "two_shot"},
       reduces(100000, ReduceOp::sum, Algorithm::ring),
       reduces(100000, ReduceOp::sum, Algorithm::two_shot)},
      {"algorithms, one by packets", {"ring", "packets"}, reduces(10, ReduceOp::sum, Algorithm::ring), reduces(10)},
      {"roots", {"root 1", "root 3"}, broadcasts(1000, 1), broadcasts(1000, 3)},
      {"a short and a long broadcast", {"53", "2500000"}, broadcasts(53, 0), broadcasts(2500000, 0)},
      {"all_reduce against all_gather", {"all_reduce", "all_gather"}, reduces(4000), gathers(1000)},
      {"all_gather against all_reduce, then the reverse",
       {"all_reduce", "all_gather", "call 1"},
       both(reduces(100000), gathers(25000)),
       both(gathers(25000), reduces(100000))},
      {"reduce_scatter against all_gather", {"reduce_scatter", "all_gather"}, scatters(1000), gathers(1000)},
      {"reduces to two roots",
       {"root 0", "root 2"},
       collects(Collective::reduce, 30000, 0),
       collects(Collective::reduce, 30000, 2)},
      {"reduces along a tree",
       {"30000", "30001"},
       collects(Collective::reduce, 30000, 1, Algorithm::tree),
       collects(Collective::reduce, 30001, 1, Algorithm::tree)},
      {"gathers of packets",
       {"4 elements", "5 elements"},
       collects(Collective::gather, 4, 3),
       collects(Collective::gather, 5, 3)},
      {"gather against scatter",
       {"gather", "scatter"},
       collects(Collective::gather, 5000, 2),
       collects(Collective::scatter, 5000, 2)},
      {"scatters along a tree",
       {"5000", "4999"},
       collects(Collective::scatter, 5000, 1, Algorithm::tree),
       collects(Collective::scatter, 4999, 1, Algorithm::tree)},
      {"all_to_all against all_gather",
       {"all_to_all", "all_gather"},
       collects(Collective::all_to_all, 1000, 0),
       gathers(1000)},
      {"all_to_all in pairs",
       {"60000", "60001"},
       collects(Collective::all_to_all, 60000, 0, Algorithm::pairwise),
       collects(Collective::all_to_all, 60001, 0, Algorithm::pairwise)},
      {"tree against halving",
       {"tree", "halving_doubling"},
       reduces(50000, ReduceOp::sum, Algorithm::tree),
       reduces(50000, ReduceOp::sum, Algorithm::halving_doubling)},
      {"counts of recursive doubling",
       {"77 elements", "78 elements"},
       reduces(77, ReduceOp::sum, Algorithm::recursive_doubling),
       reduces(78, ReduceOp::sum, Algorithm::recursive_doubling)},
      {"barriers of two kinds",
       {"barrier"},
       meets(),
       [](Session&, Communicator& comm) { comm.barrier({.algorithm = Algorithm::dissemination}); }},
      {"barrier against all_reduce", {"barrier", "all_reduce"}, meets(), reduces(3)},
      {"the second call", {"call 2"}, both(meets(), reduces(3000)), both(meets(), broadcasts(3000, 0))},
      {"asynchronous large calls", {"100000", "100001"}, reduces_later(100000), reduces_later(100001)},
      {"asynchronous against blocking", {"100000", "100001"}, reduces_later(100000), reduces(100001)},
      {"asynchronous packets", {"10 elements", "11 elements"}, reduces_later(10), reduces_later(11)},
      {"asynchronous packets against slices", {"10 elements", "100000"}, reduces_later(10), reduces_later(100000)},
  };
}

class Mismatches : public testing::TestWithParam<int> {};  ///< blocks

TEST_P(Mismatches, AreErrorsOnEveryRankThatNameWhatDiffers) {
  for (const Mismatch& mismatch : mismatches()) {
    SCOPED_TRACE(mismatch.name);
    const auto outcomes =
        failures(4, kLong,
                 [&](Session& session, Communicator& comm) {
                   (session.rank() == 2 ? mismatch.odd : mismatch.most)(session, comm);
                   comm.barrier();  // a rank that has nothing to wait for may learn it at its next call
                 },
                 {.blocks = GetParam()});
    std::string all;
    bool told = false;
    for (std::size_t r = 0; r < outcomes.size(); ++r) {
      const Outcome& outcome = outcomes[r];
      all += "\n  " + outcome.what;
      EXPECT_TRUE(holds(outcome.what, "rank " + std::to_string(r) + ",")) << outcome.what;
      EXPECT_TRUE(outcome.code == ErrorCode::mismatch || outcome.code == ErrorCode::peer_failed) << outcome.what;
      bool has_all = outcome.code == ErrorCode::mismatch && holds(outcome.what, "rank 2");
      for (const std::string& part : mismatch.says) has_all &= holds(outcome.what, part);
      told |= has_all;
    }
    EXPECT_TRUE(told) << "nobody named rank 2 and " << testing::PrintToString(mismatch.says) << ":" << all;
  }
}

INSTANTIATE_TEST_SUITE_P(Blocks, Mismatches, testing::Values(1, 3), testing::PrintToStringParamName());

TEST(AMissingRank, IsNamedByTheOthersInTime) {
  for (const std::size_t count : {std::size_t{10}, std::size_t{100000}}) {
    for (const bool async : {false, true}) {
      std::vector<Outcome> outcomes(4);
      test::on_threads(
          4,
          [&](Session& session) {
            Communicator comm = session.communicator();
            if (session.rank() == 3) return;
            std::vector<float> x(count);
            outcomes[static_cast<std::size_t>(session.rank())] = outcome_of([&] {
              comm.barrier();
              if (async) return comm.all_reduce_async(x.data(), x.data(), count, ReduceOp::sum).wait();
              comm.all_reduce(x.data(), x.data(), count, ReduceOp::sum);
            });
          },
          kShort);
      for (int r = 0; r < 3; ++r) {
        const Outcome& outcome = outcomes[static_cast<std::size_t>(r)];
        EXPECT_TRUE(outcome.threw) << "rank " << r;
        EXPECT_TRUE(holds(outcome.what, "call 1")) << outcome.what;
        EXPECT_TRUE(outcome.code == ErrorCode::peer_failed || holds(outcome.what, "rank 3")) << outcome.what;
        EXPECT_LT(outcome.seconds, kShort + kSlack);
      }
      EXPECT_TRUE(std::any_of(outcomes.begin(), outcomes.end(), [](const Outcome& outcome) {
        return outcome.code == ErrorCode::timeout && holds(outcome.what, "rank 3 has not called any");
      })) << outcomes[0].what;
    }
  }
}

TEST(SeveralMissingRanks, AreAllNamed) {
  struct Way {
    const char* says;
    std::size_t count;
  };
  for (const Way& way : {Way{"packet", 10}, Way{"arrival", 100000}}) {
    for (const bool async : {false, true}) {
      SCOPED_TRACE(way.says);
      std::vector<Outcome> outcomes(5);
      test::on_threads(
          5,
          [&](Session& session) {
            Communicator comm = session.communicator();
            if (session.rank() == 1 || session.rank() >= 3) return session.bootstrap_barrier();
            std::vector<float> x(way.count);
            outcomes[static_cast<std::size_t>(session.rank())] = outcome_of([&] {
              if (async) return comm.all_reduce_async(x.data(), x.data(), way.count, ReduceOp::sum).wait();
              comm.all_reduce(x.data(), x.data(), way.count, ReduceOp::sum);
            });
            session.bootstrap_barrier();
          },
          kShort);
      EXPECT_TRUE(std::any_of(
          outcomes.begin(), outcomes.end(),
          [&](const Outcome& outcome) {
            return outcome.code == ErrorCode::timeout &&
                   holds(outcome.what, std::string("ranks 1, 3 and 4's ") + way.says + " did not come") &&
                   holds(outcome.what, "rank 1 has not called any") && holds(outcome.what, "rank 4 has not called any");
          }))
          << outcomes[0].what << "\n"
          << outcomes[2].what;
    }
  }
}

/// Every call is the same, so only the last one can tell: its number says how far the odd rank is.
TEST(ARankThatSkipsACall, IsFoundAndNamed) {
  for (const std::size_t count : {std::size_t{10}, std::size_t{5000}}) {
    std::vector<Outcome> outcomes(4);
    test::on_threads(
        4,
        [&](Session& session) {
          Communicator comm = session.communicator();
          std::vector<float> x(count);
          outcomes[static_cast<std::size_t>(session.rank())] = outcome_of([&] {
            for (int call = 1; call <= 100; ++call) {
              if (session.rank() == 1 && call == 57) continue;
              comm.all_reduce(x.data(), x.data(), count, ReduceOp::max);
            }
            comm.broadcast(x.data(), count, 0);
          });
        },
        kLong);
    for (std::size_t r = 0; r < outcomes.size(); ++r) {
      EXPECT_TRUE(outcomes[r].threw) << "rank " << r;
      EXPECT_TRUE(holds(outcomes[r].what, "call 100")) << outcomes[r].what;
      EXPECT_LT(outcomes[r].seconds, kSlack) << outcomes[r].what;
    }
    EXPECT_TRUE(std::any_of(outcomes.begin(), outcomes.end(), [](const Outcome& outcome) {
      return outcome.code == ErrorCode::mismatch && holds(outcome.what, "rank 1") && holds(outcome.what, "broadcast");
    })) << outcomes[0].what;
  }
}

TEST(MoreRanksThanNativeServes, AreToldSoOnEachOfThem) {
  constexpr int kRanks = 65;
  std::vector<Outcome> outcomes(kRanks);
  test::on_threads(
      kRanks,
      [&](Session& session) {
        outcomes[static_cast<std::size_t>(session.rank())] = outcome_of([&] { session.communicator(); });
      },
      kLong);
  for (std::size_t r = 0; r < outcomes.size(); ++r) {
    EXPECT_TRUE(outcomes[r].threw) << "rank " << r << " got no error";
    EXPECT_EQ(outcomes[r].code, ErrorCode::unsupported) << "rank " << r;
    EXPECT_TRUE(holds(outcomes[r].what, "65 ranks; native serves at most 64")) << outcomes[r].what;
  }
}

TEST(ADestroyedBuffer, IsAnErrorOnEveryRank) {
  const auto outcomes = failures(3, kLong, [](Session& session, Communicator& comm) {
    constexpr std::size_t kCount = 50000;
    auto kept = comm.allocate<float>(kCount);
    auto gone = comm.allocate<float>(kCount);
    if (session.rank() == 1) gone = {};
    session.bootstrap_barrier();
    float* const x = session.rank() == 1 ? kept.data() : gone.data();
    const Outcome outcome = outcome_of([&] { comm.all_reduce(x, x, kCount, ReduceOp::sum); });
    session.bootstrap_barrier();
    if (outcome.threw) throw Error(outcome.code, outcome.what);
  });
  EXPECT_EQ(outcomes[1].code, ErrorCode::invalid_argument);
  EXPECT_TRUE(holds(outcomes[1].what, "destroyed")) << outcomes[1].what;
  for (const std::size_t r : {0, 2}) EXPECT_TRUE(holds(outcomes[r].what, "rank 1")) << outcomes[r].what;
}

/// The sender of a short message may have ended before it is found wrong; then its next call that needs a peer says so.
TEST(MismatchedMessages, AreErrorsOnBothEnds) {
  struct Ends {
    std::size_t sent, received;
    DataType sent_type, received_type;
  };
  const Ends all_ends[] = {{10, 12, DataType::f32, DataType::f32},         {12, 10, DataType::f32, DataType::f32},
                           {10, 10, DataType::f32, DataType::i32},         {0, 3, DataType::f32, DataType::f32},
                           {300000, 10, DataType::f32, DataType::f32},     {10, 300000, DataType::f32, DataType::f32},
                           {300000, 300001, DataType::f32, DataType::f32}, {5000, 10000, DataType::f64, DataType::f32}};
  for (const Ends& ends : all_ends)
    for (const bool mapped : {false, true}) {
      SCOPED_TRACE(std::to_string(ends.sent) + " sent, " + std::to_string(ends.received) + " awaited" +
                   (mapped ? ", mapped" : ""));
      const auto outcomes = failures(3, kLong, [&](Session& session, Communicator& comm) {
        auto memory = comm.allocate<double>(300064);
        std::vector<double> own(300064);
        double* const x = mapped ? memory.data() : own.data();
        const Outcome outcome = outcome_of([&] {
          if (session.rank() == 0) comm.send(x, ends.sent, ends.sent_type, 2);
          if (session.rank() == 2) comm.recv(x, ends.received, ends.received_type, 0);
          comm.barrier();
        });
        session.bootstrap_barrier();
        if (outcome.threw) throw Error(outcome.code, outcome.what);
      });
      EXPECT_EQ(outcomes[2].code, ErrorCode::mismatch) << outcomes[2].what;
      EXPECT_TRUE(holds(outcomes[2].what, "rank 0")) << outcomes[2].what;
      EXPECT_TRUE(holds(outcomes[2].what, std::to_string(ends.sent))) << outcomes[2].what;
      EXPECT_TRUE(holds(outcomes[2].what, std::to_string(ends.received))) << outcomes[2].what;
      constexpr std::size_t kMeet = 32 << 10;  // bytes of messages in which both ends compare
      const bool meet =
          ends.sent * size_of(ends.sent_type) > kMeet && ends.received * size_of(ends.received_type) > kMeet;
      EXPECT_EQ(outcomes[0].code, meet ? ErrorCode::mismatch : ErrorCode::peer_failed) << outcomes[0].what;
      EXPECT_TRUE(holds(outcomes[0].what, "rank 2")) << outcomes[0].what;
    }
}

TEST(AMessageWithoutAReceiver, EndsInTime) {
  const auto outcomes = failures(2, kShort, [](Session& session, Communicator& comm) {
    std::vector<float> x(1 << 20);
    if (session.rank() == 0) comm.send(x.data(), x.size(), 1);
    if (session.rank() == 1) comm.barrier();
  });
  EXPECT_TRUE(holds(outcomes[0].what, "rank 1")) << outcomes[0].what;
  EXPECT_TRUE(holds(outcomes[1].what, "rank 0")) << outcomes[1].what;
}

/// What was queued behind a call that failed ends too, in the handle that asks.
TEST(QueuedCalls, FailWithTheOneInFront) {
  const auto outcomes = failures(2, kShort, [](Session& session, Communicator& comm) {
    std::vector<float> x(100), y(100), z(100);
    if (session.rank() == 1) throw Error(ErrorCode::invalid_argument, "rank 1 stays away");
    Handle first = comm.all_reduce_async(x.data(), x.data(), 100, ReduceOp::sum);
    Handle second = comm.broadcast_async(y.data(), 100, 0);
    Handle third = comm.isend(z.data(), 100, 1);
    const Outcome later = outcome_of([&] { second.wait(); });
    EXPECT_TRUE(later.threw);
    EXPECT_TRUE(holds(later.what, "call 1")) << later.what;
    third.wait();  // a small message has left before the failure
    first.wait();
  });
  EXPECT_TRUE(holds(outcomes[0].what, "rank 1")) << outcomes[0].what;
}

}  // namespace
}  // namespace tutti
