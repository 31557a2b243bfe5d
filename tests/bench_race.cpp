// Races among contenders that are known to be right, wrong, slow or unable.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>

#include "bench/algorithms.hpp"
#include "bench/lineup.hpp"
#include "bench/race.hpp"

namespace tutti::bench {
namespace {

// What each collective is for one rank: a copy. Options: one wrong element, a delay, the input destroyed, a refusal,
// the result of the call before.
class Copier : public Contender {
 public:
  enum class Fault { none, one_wrong, input_lost, refuses, stale };
  Copier(std::string backend, Fault fault, double delay_s = 0)
      : backend_(std::move(backend)), fault_(fault), delay_s_(delay_s) {}
  std::string backend() const override { return backend_; }
  std::string asked_algorithm() const override { return "auto"; }
  std::string algorithm(const Case&) const override { return "copy"; }
  void run(const Case& c, const Buffers& b) override {
    if (fault_ == Fault::refuses) throw Error(ErrorCode::unsupported, "not today");
    const std::size_t bytes = c.count * size_of(c.type);
    if (fault_ == Fault::stale && ++calls_ > 3) return;
    if (b.out != b.in) std::memcpy(b.out, b.in, bytes);
    if (fault_ == Fault::one_wrong) b.out[bytes - 1] ^= std::byte{1};
    if (fault_ == Fault::input_lost) b.in[0] ^= std::byte{1};
    const auto begin = std::chrono::steady_clock::now();
    while (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < delay_s_) continue;
  }

 private:
  std::string backend_;
  Fault fault_;
  double delay_s_;
  int calls_ = 0;
};

class RaceOfOneRank : public testing::Test {
 protected:
  RaceResult run(std::vector<Contender*> contenders, RaceOptions options, std::size_t bytes = 64) {
    Case shape;
    const Case c = case_of(bytes, shape);
    std::vector<Lane> lanes;
    std::vector<OwnMemory> memory;
    for (int i = 0; i < 2; ++i) memory.emplace_back(bytes);
    for (Contender* contender : contenders)
      lanes.push_back({contender, MemoryKind::any, {memory[0].data(), memory[1].data()}});
    Session session;
    auto bootstraps = thread_bootstraps(1);
    MeetingPoint meeting(*bootstraps[0]);
    return Race(session, meeting, options).run(c, lanes);
  }
  static RaceOptions quick() {
    RaceOptions options;
    options.batch_seconds = 1e-4;
    options.second_run_seconds = 0.05;
    return options;
  }
};

TEST_F(RaceOfOneRank, FindsNothingWrongWithARightContender) {
  for (std::size_t bytes : {4u, 64u, 4096u, 5000u, 100000u}) {
    Copier right("native", Copier::Fault::none);
    const RaceResult result = run({&right}, quick(), bytes);
    ASSERT_EQ(result.rows.size(), 1u);
    EXPECT_EQ(result.rows[0].wrong, 0u) << bytes << " bytes";
    EXPECT_GE(result.rows[0].rounds, 15);
    EXPECT_GT(result.rows[0].seconds, 0);
  }
}

TEST_F(RaceOfOneRank, CountsTheElementsOfAWrongContender) {
  using Fault = Copier::Fault;
  for (Fault fault : {Fault::one_wrong, Fault::input_lost, Fault::stale})
    for (std::size_t bytes : {64u, 100000u}) {
      Copier wrong("native", fault), right("mpi", Fault::none);
      const RaceResult result = run({&wrong, &right}, quick(), bytes);
      ASSERT_EQ(result.rows.size(), 2u);
      EXPECT_GT(result.rows[0].wrong, 0u) << "fault " << static_cast<int>(fault) << ", " << bytes << " bytes";
      EXPECT_EQ(result.rows[1].wrong, 0u) << "fault " << static_cast<int>(fault) << ", " << bytes << " bytes";
    }
}

TEST_F(RaceOfOneRank, OfKnownSpeedsHasTheirRatio) {
  Copier native("native", Copier::Fault::none, 100e-6), mpi("mpi", Copier::Fault::none, 300e-6);
  RaceOptions options = quick();
  options.batch_seconds = 1e-3;
  const RaceResult result = run({&native, &mpi}, options, 8192);
  ASSERT_EQ(result.rows.size(), 2u);
  EXPECT_NEAR(result.rows[0].ratio.at("mpi").median, 3, 0.5);
  EXPECT_NEAR(result.rows[0].seconds_min, 100e-6, 30e-6);
}

TEST_F(RaceOfOneRank, RunsACloseRaceAgain) {
  Copier native("native", Copier::Fault::none, 20e-6), mpi("mpi", Copier::Fault::none, 20e-6);
  RaceOptions options = quick();
  options.second_run_seconds = 5;
  bool longer = false;
  for (int i = 0; i < 5 && !longer; ++i) {  // the interval of equals spans 1 nearly always
    const RaceResult result = run({&native, &mpi}, options, 64);
    longer = result.rows.at(0).rounds >= 75 && result.rows.at(1).rounds >= 75;
    for (const std::string& note : result.notes) EXPECT_EQ(note.find("not 75"), std::string::npos) << note;
  }
  EXPECT_TRUE(longer);
}

TEST_F(RaceOfOneRank, SaysWhenTimeEndsTheLongerRunEarly) {
  Copier native("native", Copier::Fault::none, 20e-6), mpi("mpi", Copier::Fault::none, 20e-6);
  RaceOptions options = quick();
  options.second_run_seconds = 0;
  bool told = false;
  for (int i = 0; i < 5 && !told; ++i) {
    const RaceResult result = run({&native, &mpi}, options, 64);
    for (const std::string& note : result.notes) told = told || note.find("not 75") != std::string::npos;
    if (!told) continue;
    EXPECT_GE(result.rows.at(0).rounds, 15);
    EXPECT_LT(result.rows.at(0).rounds, 75);
  }
  EXPECT_TRUE(told);
}

TEST_F(RaceOfOneRank, LeavesOutWhoCannotAndSaysWhy) {
  Copier unable("native", Copier::Fault::refuses), able("mpi", Copier::Fault::none);
  const RaceResult result = run({&unable, &able}, quick());
  ASSERT_EQ(result.rows.size(), 1u);
  EXPECT_EQ(result.rows[0].backend, "mpi");
  ASSERT_EQ(result.left_out.size(), 1u);
  EXPECT_EQ(result.left_out[0].why, "not today");
  EXPECT_EQ(result.left_out[0].row.backend, "native");
  EXPECT_EQ(result.left_out[0].row.c.bytes, 64u);
}

TEST_F(RaceOfOneRank, WithoutCheckingCountsNothing) {
  Copier wrong("native", Copier::Fault::one_wrong);
  RaceOptions options = quick();
  options.check = false;
  const RaceResult result = run({&wrong}, options);
  EXPECT_FALSE(result.rows.at(0).checked);
  EXPECT_EQ(result.rows.at(0).wrong, 0u);
}

// Every algorithm of the native backend, and the choice among them, in turn.
TEST(RaceOfThreads, HasNoWrongResultInAnyCollectiveTypePlaceAndAlgorithm) {
  for (int ranks : {1, 2, 3})
    run_threads(ranks, [ranks](Session& session) {
      Communicator comm = session.communicator();
      std::vector<std::unique_ptr<Contender>> contenders;
      for (int i = 0; i < kAlgorithms; ++i) contenders.push_back(tutti_contender(comm, static_cast<Algorithm>(i)));
      // The harness's barrier, as a race among threads has it: one meeting point per rank on shared bootstraps.
      static std::vector<std::unique_ptr<Bootstrap>> bootstraps;
      if (session.rank() == 0) bootstraps = thread_bootstraps(ranks);
      session.bootstrap_barrier();
      Bootstrap& bootstrap = *bootstraps[static_cast<std::size_t>(session.rank())];
      MeetingPoint meeting(bootstrap);
      RaceOptions options;
      options.rounds = 1;
      options.calls = 2;
      options.warm_up = 0;
      options.second_run_seconds = 0;
      Race race(session, meeting, options);
      for (int operation = 0; operation < kOperations; ++operation)
        for (bool in_place : {false, true})
          for (const auto& [type, op] :
               {std::pair{DataType::f32, ReduceOp::sum}, std::pair{DataType::bf16, ReduceOp::avg},
                std::pair{DataType::i64, ReduceOp::prod}, std::pair{DataType::u8, ReduceOp::max}})
            for (std::size_t bytes : {64u, 3000u, 40000u}) {
              const bool all = type == DataType::f32 && bytes != 3000;
              Case shape;
              shape.operation = static_cast<Operation>(operation);
              if ((in_place && !shape.has_places()) || (shape.is(Operation::send_recv) && ranks < 2)) continue;
              shape.ranks = ranks;
              shape.type = type;
              shape.op = op;
              shape.root = ranks - 1;
              shape.in_place = in_place;
              const Case c = case_of(bytes, shape);
              OwnMemory in(bytes), out(bytes);
              std::vector<Lane> lanes;
              for (const auto& contender : contenders)
                if (contender->plays(c.operation) && (all || contender == contenders.front()))
                  lanes.push_back(
                      {contender.get(), MemoryKind::any, place_buffers(c, session.rank(), in.data(), out.data())});
              EXPECT_EQ(lanes.size(), all ? algorithms_of(c.operation).size() + 1 : 1) << name_of(c.operation);
              const RaceResult result = race.run(c, lanes);
              EXPECT_EQ(result.rows.size() + result.left_out.size(), lanes.size()) << name_of(c.operation);
              ASSERT_FALSE(result.rows.empty());
              EXPECT_EQ(result.rows[0].asked_algorithm, "auto") << name_of(c.operation);
              for (const Row& row : result.rows)
                EXPECT_EQ(row.wrong, 0u) << name_of(c.operation) << " by " << row.algorithm << ' ' << name_of(type)
                                         << ' ' << name_of(op) << ' ' << bytes << " bytes, rank " << session.rank()
                                         << " of " << ranks << (in_place ? ", in place" : "");
            }
      session.bootstrap_barrier();
      if (session.rank() == 0) bootstraps.clear();
    });
}

// The way of a GPU, whose memory the host does not touch: played by a communicator of the CPU.
TEST_F(RaceOfOneRank, ReachesTheBuffersByCopyIfTheHostCannot) {
  Session session;
  const Communicator copier = session.communicator();
  auto bootstraps = thread_bootstraps(1);
  MeetingPoint meeting(*bootstraps[0]);
  for (const bool wrong : {false, true})
    for (std::size_t bytes : {64u, 100000u}) {
      Copier contender("native", wrong ? Copier::Fault::one_wrong : Copier::Fault::none);
      OwnMemory in(bytes), out(bytes);
      const RaceResult result =
          Race(session, meeting, quick(), &copier)
              .run(case_of(bytes, Case()), {{&contender, MemoryKind::any, {in.data(), out.data()}}});
      ASSERT_EQ(result.rows.size(), 1u);
      EXPECT_EQ(result.rows[0].wrong > 0, wrong) << bytes << " bytes";
      EXPECT_EQ(result.rows[0].placement, Placement::unknown) << "the distance of cores says nothing there";
    }
}

}  // namespace
}  // namespace tutti::bench
