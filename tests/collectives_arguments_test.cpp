// Bad arguments, options and settings are refused in one clear line before anything is changed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <thread>

#include "collectives/bootstrap.hpp"
#include "collectives/session_state.hpp"
#include "tests/collectives_outcomes.hpp"

namespace tutti {
namespace {

using test::failures;
using test::holds;
using test::kShort;
using test::kSlack;
using test::Outcome;
using test::outcome_of;
using test::use;

/// Each bad call must throw this code and name the collective, the rank and the trouble.
struct BadCall {
  const char* name;
  ErrorCode code;
  const char* says;
  std::function<void(Communicator&, float* data)> call;
};

TEST(BadArguments, AreRefusedAndChangeNothing) {
  constexpr std::size_t kMany = std::size_t{1} << 60;
  const auto invalid = ErrorCode::invalid_argument, unsupported = ErrorCode::unsupported;
  const std::vector<BadCall> bad_calls = {
      {"null input", invalid, "input is a null",
       [](Communicator& c, float* x) { c.all_reduce<float>(nullptr, x, 4, ReduceOp::sum); }},
      {"null output", invalid, "output is a null",
       [](Communicator& c, float* x) { c.all_gather<float>(x, nullptr, 4); }},
      {"null broadcast", invalid, "null", [](Communicator& c, float*) { c.broadcast<float>(nullptr, 4, 0); }},
      {"null send", invalid, "null", [](Communicator& c, float*) { c.send<float>(nullptr, 4, 1 - c.rank()); }},
      {"null recv", invalid, "null", [](Communicator& c, float*) { c.recv<float>(nullptr, 4, 1 - c.rank()); }},
      {"overlap by one element", invalid, "overlap",
       [](Communicator& c, float* x) { c.all_reduce(x, x + 3, 4, ReduceOp::sum); }},
      {"all_gather from another rank's place", invalid, "in == out + rank",
       [](Communicator& c, float* x) { c.all_gather(x + 4 * (1 - c.rank()), x, 4); }},
      {"reduce_scatter into another rank's place", invalid, "out == in + rank",
       [](Communicator& c, float* x) { c.reduce_scatter(x, x + 4 * (1 - c.rank()), 4, ReduceOp::sum); }},
      {"reduce without an input", invalid, "input is a null",
       [](Communicator& c, float* x) { c.reduce<float>(nullptr, x, 4, ReduceOp::sum, 0); }},
      {"gather without an input", invalid, "input is a null",
       [](Communicator& c, float* x) { c.gather<float>(nullptr, x, 4, 1); }},
      {"scatter without an output", invalid, "output is a null",
       [](Communicator& c, float* x) { c.scatter<float>(x, nullptr, 4, 1); }},
      {"reduce without an output on the root", invalid, "output is a null",
       [](Communicator& c, float* x) { c.reduce<float>(x, nullptr, 4, ReduceOp::sum, c.rank()); }},
      {"gather without an output on the root", invalid, "output is a null",
       [](Communicator& c, float* x) { c.gather<float>(x, nullptr, 4, c.rank()); }},
      {"scatter without an input on the root", invalid, "input is a null",
       [](Communicator& c, float* x) { c.scatter<float>(nullptr, x, 4, c.rank()); }},
      {"all_gather with one buffer", invalid, "in == out + rank",
       [](Communicator& c, float* x) { c.all_gather(x + c.rank(), x + c.rank() + 1, 4); }},
      {"reduce over an overlap by one", invalid, "in == out",
       [](Communicator& c, float* x) { c.reduce(x, x + 3, 4, ReduceOp::sum, c.rank()); }},
      {"gather from another rank's place", invalid, "in == out + rank",
       [](Communicator& c, float* x) { c.gather(x + 4 * (1 - c.rank()), x, 4, c.rank()); }},
      {"scatter into another rank's place", invalid, "out == in + rank",
       [](Communicator& c, float* x) { c.scatter(x, x + 4 * (1 - c.rank()), 4, c.rank()); }},
      {"all_to_all in place", invalid, "in place is not possible",
       [](Communicator& c, float* x) { c.all_to_all(x, x, 4); }},
      {"all_to_all over an overlap by one", invalid, "overlap",
       [](Communicator& c, float* x) { c.all_to_all(x, x + 7, 4); }},
      {"reduce to nobody", invalid, "root 2", [](Communicator& c, float* x) { c.reduce(x, x, 4, ReduceOp::sum, 2); }},
      {"gather to nobody, empty", invalid, "root -1", [](Communicator& c, float* x) { c.gather(x, x + 64, 0, -1); }},
      {"scatter from nobody", invalid, "root 7", [](Communicator& c, float* x) { c.scatter(x, x + 64, 4, 7); }},
      {"more than memory in chunks", invalid, "address space",
       [](Communicator& c, float* x) { c.all_to_all(x, x + 64, std::size_t{1} << 45); }},
      {"root below", invalid, "root -1", [](Communicator& c, float* x) { c.broadcast(x, 4, -1); }},
      {"root above", invalid, "root 2", [](Communicator& c, float* x) { c.broadcast(x, 4, 2); }},
      {"root above, empty", invalid, "root 2", [](Communicator& c, float* x) { c.broadcast(x, 0, 2); }},
      {"peer above", invalid, "peer 2", [](Communicator& c, float* x) { c.send(x, 4, 2); }},
      {"send to itself", invalid, "itself", [](Communicator& c, float* x) { c.send(x, 4, c.rank()); }},
      {"receive from itself", invalid, "itself", [](Communicator& c, float* x) { c.recv(x, 4, c.rank()); }},
      {"itself in a group", invalid, "itself",
       [](Communicator& c, float* x) { c.group().send(x, 4, 1 - c.rank()).recv(x + 4, 4, c.rank()).run(); }},
      {"a collective in a group", invalid, "all_gather is no send or recv",
       [](Communicator& c, float* x) {
         c.group().send(x, 4, 1 - c.rank()).add({Collective::all_gather, x, x + 64, 4, DataType::f32, 0}).run();
       }},
      {"a collective in a group that is started", invalid, "barrier is no send or recv",
       [](Communicator& c, float*) {
         c.group().add({Collective::barrier, nullptr, nullptr, 0, DataType::f32, 0}).start().wait();
       }},
      {"overlap in a group", invalid, "overlaps that of the send",
       [](Communicator& c, float* x) { c.group().send(x, 4, 1 - c.rank()).recv(x + 3, 4, 1 - c.rank()).run(); }},
      {"two receives into one place", invalid, "overlaps that of the receive",
       [](Communicator& c, float* x) { c.group().recv(x, 4, 1 - c.rank()).recv(x + 3, 4, 1 - c.rank()).run(); }},
      {"no such type", invalid, "data type 10 does not exist",
       [](Communicator& c, float* x) { c.all_reduce(x, x, 4, static_cast<DataType>(10), ReduceOp::sum); }},
      {"no such reduction", invalid, "reduction 5 does not exist",
       [](Communicator& c, float* x) { c.all_reduce(x, x, 4, static_cast<ReduceOp>(5)); }},
      {"no such algorithm", invalid, "algorithm 77 does not exist",
       [](Communicator& c, float* x) { c.broadcast(x, 4, 0, {.algorithm = static_cast<Algorithm>(77)}); }},
      {"more than memory", invalid, "address space",
       [](Communicator& c, float* x) { c.all_reduce(x, x, kMany, ReduceOp::sum); }},
      {"a stream on the CPU", invalid, "stream",
       [](Communicator& c, float* x) { c.all_reduce(x, x, 4, ReduceOp::sum, {.stream = x}); }},
      {"all_reduce by direct", unsupported, "direct",
       [](Communicator& c, float* x) { c.all_reduce(x, x, 4, ReduceOp::sum, {.algorithm = Algorithm::direct}); }},
      {"all_gather by two_shot", unsupported, "two_shot",
       [](Communicator& c, float* x) { c.all_gather(x + 64, x, 4, {.algorithm = Algorithm::two_shot}); }},
      {"reduce_scatter by one_shot", unsupported, "one_shot",
       [](Communicator& c, float* x) {
         c.reduce_scatter(x, x + 64, 4, ReduceOp::sum, {.algorithm = Algorithm::one_shot});
       }},
      {"broadcast by bruck", unsupported, "bruck",
       [](Communicator& c, float* x) { c.broadcast(x, 4, 0, {.algorithm = Algorithm::bruck}); }},
      {"send by ring", unsupported, "ring",
       [](Communicator& c, float* x) { c.send(x, 4, 1 - c.rank(), {.algorithm = Algorithm::ring}); }},
      {"barrier by one_shot", unsupported, "one_shot",
       [](Communicator& c, float*) { c.barrier({.algorithm = Algorithm::one_shot}); }},
      {"all_to_all by tree", unsupported, "tree",
       [](Communicator& c, float* x) { c.all_to_all(x, x + 64, 4, {.algorithm = Algorithm::tree}); }},
      {"gather by ring, asynchronous", unsupported, "ring",
       [](Communicator& c, float* x) { c.gather_async(x, x + 64, 4, 0, {.algorithm = Algorithm::ring}).wait(); }},
      {"asynchronous, null input", invalid, "input is a null",
       [](Communicator& c, float* x) { c.all_reduce_async<float>(nullptr, x, 4, ReduceOp::sum).wait(); }},
      {"asynchronous by direct", unsupported, "direct",
       [](Communicator& c, float* x) {
         c.all_reduce_async(x, x, 4, ReduceOp::sum, {.algorithm = Algorithm::direct}).wait();
       }},
  };
  test::on_threads(
      2,
      [&](Session& session) {
        Communicator comm = session.communicator();
        for (const BadCall& bad : bad_calls) {
          std::vector<float> data(256, 3.25f);
          const Outcome outcome = outcome_of([&] { bad.call(comm, data.data()); });
          ASSERT_TRUE(outcome.threw) << bad.name << " on rank " << session.rank() << " was accepted";
          EXPECT_EQ(outcome.code, bad.code) << bad.name << ": " << outcome.what;
          EXPECT_TRUE(holds(outcome.what, bad.says)) << bad.name << ": " << outcome.what;
          EXPECT_EQ(outcome.what.find('\n'), std::string::npos) << outcome.what;
          EXPECT_EQ(data, std::vector<float>(256, 3.25f)) << bad.name;
          use(comm);
        }
      },
      kShort + kSlack);
}

TEST(BadArguments, OfOneRankReleaseThePeersInTime) {
  const auto outcomes = failures(3, kShort, [](Session& session, Communicator& comm) {
    float x[8] = {};
    if (session.rank() == 1) return comm.all_reduce(x, x + 1, 4, ReduceOp::sum);
    comm.all_reduce(x, x + 4, 4, ReduceOp::sum);
  });
  EXPECT_EQ(outcomes[1].code, ErrorCode::invalid_argument);
  for (const int r : {0, 2}) EXPECT_TRUE(holds(outcomes[static_cast<std::size_t>(r)].what, "rank 1"));
}

TEST(BadArguments, OfASessionAreRefused) {
  const Outcome outcome = outcome_of([] { run_threads(2, [](Session&) {}, {.timeout_s = -1}); });
  EXPECT_TRUE(outcome.threw && outcome.code == ErrorCode::invalid_argument);
  EXPECT_TRUE(holds(outcome.what, "timeout_s is -1")) << outcome.what;
}

TEST(BadArguments, OfACommunicatorAreRefusedOnAllRanks) {
  for (const int blocks : {-1, 5, 1000}) {
    test::on_threads(3, [blocks](Session& session) {
      const Outcome outcome = outcome_of([&] { (void)session.communicator({.blocks = blocks}); });
      EXPECT_TRUE(outcome.threw && outcome.code == ErrorCode::invalid_argument) << blocks << " blocks";
      EXPECT_TRUE(holds(outcome.what, std::to_string(blocks))) << outcome.what;
      Communicator comm = session.communicator();
      use(comm);
    });
  }
}

TEST(BadArguments, OnAnEmptyCommunicatorAreNamed) {
  Communicator none;
  float x[2] = {};
  const std::pair<const char*, std::function<void()>> calls[] = {
      {"barrier", [&] { none.barrier(); }},
      {"all_reduce", [&] { none.all_reduce_async(x, x, 2, ReduceOp::sum).wait(); }},
      {"group", [&] { none.group().run(); }},
      {"group", [&] { none.group().send(x, 2, 1).start().wait(); }},
      {"rank", [&] { (void)none.rank(); }},
      {"size", [&] { (void)none.size(); }},
      {"backend", [&] { (void)none.backend(); }},
      {"arena_bytes", [&] { (void)none.arena_bytes(); }},
      {"allocate", [&] { (void)none.allocate<float>(4); }},
      {"reduce", [&] { none.reduce(x, x, 2, ReduceOp::sum, 0); }},
      {"gather", [&] { none.gather(x, x, 1, 0); }},
      {"scatter", [&] { none.scatter_async(x, x, 1, 0).wait(); }},
      {"all_to_all", [&] { none.all_to_all(x, x + 1, 1); }},
      {"split", [&] { (void)none.split(0, 0); }},
      {"choice", [&] { (void)none.choice(Collective::all_gather, 64, DataType::f32, ReduceOp::sum); }},
  };
  for (const auto& [name, call] : calls) {
    const Outcome outcome = outcome_of(call);
    EXPECT_TRUE(outcome.threw && outcome.code == ErrorCode::invalid_argument) << name << ": " << outcome.what;
    EXPECT_TRUE(holds(outcome.what, name) && holds(outcome.what, "empty")) << name << ": " << outcome.what;
  }
}

TEST(BadArguments, OfOneRankAloneAreRefusedAsOfMore) {
  test::on_threads(1, [](Session& session) {
    Communicator comm = session.communicator({.deterministic = true});
    float x[8] = {};
    const Options direct{.algorithm = Algorithm::direct}, ring{.algorithm = Algorithm::ring};
    const std::pair<const char*, std::function<void()>> calls[] = {
        {"direct", [&] { comm.all_reduce(x, x, 4, ReduceOp::sum, direct); }},
        {"direct", [&] { comm.all_reduce_async(x, x, 4, ReduceOp::sum, direct).wait(); }},
        {"deterministic", [&] { comm.reduce_scatter(x, x, 4, ReduceOp::sum, ring); }},
        {"root 1", [&] { comm.broadcast(x, 4, 1); }},
        {"peer 1", [&] { comm.send(x, 4, 1); }},
        {"itself", [&] { comm.group().recv(x, 4, 0).run(); }},
        {"null", [&] { comm.all_gather<float>(x, nullptr, 4); }},
        {"overlap", [&] { comm.all_reduce(x, x + 1, 4, ReduceOp::sum); }},
    };
    for (const auto& [says, call] : calls) {
      const Outcome outcome = outcome_of(call);
      EXPECT_TRUE(outcome.threw && holds(outcome.what, says)) << says << ": " << outcome.what;
    }
  });
}

/// An environment variable for the length of a scope.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value, 1);
  }
  ~Environment() {
    if (before_) {
      setenv(name_, before_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(TheEnvironment, IsCheckedAtCreation) {
  const auto make = [] { run_threads(2, [](Session& session) { (void)session.communicator(); }); };
  for (const auto& [name, value] : {std::pair{"TUTTI_BACKEND", "gloo"},
                                    {"TUTTI_TIMEOUT", "soon"},
                                    {"TUTTI_TIMEOUT", "-3"},
                                    {"TUTTI_TIMEOUT", "0"}}) {
    const Environment environment(name, value);
    const Outcome outcome = outcome_of(make);
    EXPECT_EQ(outcome.code, ErrorCode::invalid_argument) << name << "=" << value;
    EXPECT_TRUE(holds(outcome.what, name) && holds(outcome.what, value)) << outcome.what;
  }
  const Environment environment("TUTTI_BACKEND", "native");
  EXPECT_FALSE(outcome_of(make).threw);
}

TEST(TheEnvironment, BoundsTheBootstrapByTwiceTheTimeout) {
  const Environment environment("TUTTI_TIMEOUT", "2");
  const auto late_by = [](int milliseconds) {
    return outcome_of([milliseconds] {
      run_threads(2, [milliseconds](Session& session) {
        if (session.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
        session.bootstrap_barrier();
      });
    });
  };
  const Outcome within = late_by(2500);
  EXPECT_FALSE(within.threw) << within.what;
  const Outcome beyond = late_by(4500);
  EXPECT_TRUE(beyond.threw && beyond.code == ErrorCode::timeout) << beyond.what;
}

/// What each rank's session ended in, of a job whose ranks have options of their own.
std::vector<Outcome> sessions(const std::vector<SessionOptions>& options) {
  auto bootstraps = thread_bootstraps(static_cast<int>(options.size()), 30);
  std::vector<Outcome> outcomes(options.size());
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < options.size(); ++r)
    threads.emplace_back(
        [&, r] { outcomes[r] = outcome_of([&] { detail::SessionState(std::move(bootstraps[r]), options[r]); }); });
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

TEST(Backends, ThatDifferBetweenRanksAreRefusedOnAllOfThem) {
  for (const Outcome& outcome :
       sessions({{.backend = BackendKind::native}, {.backend = BackendKind::native}, {.backend = BackendKind::mpi}})) {
    EXPECT_TRUE(outcome.threw && outcome.code == ErrorCode::mismatch) << outcome.what;
    EXPECT_TRUE(holds(outcome.what, "rank 0 asks for backend native, rank 2 for mpi")) << outcome.what;
    EXPECT_LT(outcome.seconds, kSlack);
  }
}

/// Rank 1 alone asks the environment.
TEST(TheEnvironment, OfOneRankIsRefusedOnAllOfThem) {
  const SessionOptions sure{.backend = BackendKind::native, .timeout_s = 30};
  for (const auto& [name, value] : {std::pair{"TUTTI_BACKEND", "natvie"}, {"TUTTI_TIMEOUT", "1 minute"}}) {
    const Environment environment(name, value);
    for (const Outcome& outcome : sessions({sure, {}, sure})) {
      EXPECT_TRUE(outcome.threw && outcome.code == ErrorCode::invalid_argument) << outcome.what;
      EXPECT_TRUE(holds(outcome.what, "rank 1") && holds(outcome.what, name) && holds(outcome.what, value))
          << outcome.what;
      EXPECT_LT(outcome.seconds, kSlack);
    }
  }
}

TEST(Nccl, IsRefusedWithALine) {
  const Outcome outcome = outcome_of(
      [] { run_threads(2, [](Session& session) { (void)session.communicator(); }, {.backend = BackendKind::nccl}); });
  EXPECT_EQ(outcome.code, ErrorCode::unsupported);
  EXPECT_TRUE(holds(outcome.what, "nccl")) << outcome.what;
}

TEST(ADeterministicCommunicator, RefusesToReduceAlongARing) {
  test::on_threads(3, [](Session& session) {
    // Rank 0's wish holds for all.
    Communicator comm = session.communicator({.deterministic = session.rank() == 0});
    float x[12] = {}, y[12];
    const Options ring{.algorithm = Algorithm::ring};
    for (const Outcome& outcome : {outcome_of([&] { comm.all_reduce(x, y, 4, ReduceOp::sum, ring); }),
                                   outcome_of([&] { comm.reduce_scatter(x, y, 4, ReduceOp::max, ring); })}) {
      EXPECT_TRUE(outcome.threw && outcome.code == ErrorCode::unsupported) << "rank " << session.rank();
      EXPECT_TRUE(holds(outcome.what, "ring") && holds(outcome.what, "deterministic")) << outcome.what;
    }
    comm.all_gather(x, y, 4, ring);  // gathers only
    use(comm);
  });
}
}  // namespace
}  // namespace tutti
