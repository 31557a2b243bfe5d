// What must hold of every kernel in virtual time, of ranks that share cores, and of kernels that are wrong.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "tests/timed_worlds.hpp"

namespace tutti::timed {
namespace {

std::vector<Case> kernels_of(std::size_t count, int blocks) {
  std::vector<Case> cases;
  for (int k = 0; k < kKernels; ++k) {
    const auto kernel = static_cast<Kernel>(k);
    if (kernel == Kernel::recv || shape_of(kernel) == Shape::nothing) continue;
    for (const Mapped mapped : {best_for(kernel), Mapped::none})
      cases.push_back({.kernel = kernel, .count = count, .to = 1, .blocks = blocks, .mapped = mapped});
  }
  return cases;
}

TEST(VirtualTime, GrowsWithTheBytesOfEveryKernel) {
  const int n = 4;
  // Who comes first where all share one memory may cost a few nanoseconds; on shared cores it may cost a turn.
  for (const auto& [m, slack] : {std::pair{plain_gpus(n), 1e-9}, std::pair{plain_cpus(n), 0.02}})
    for (Case c : kernels_of(1, 2)) {
      double before = 0;
      for (c.count = 1; c.count <= 1 << 18; c.count *= 4) {
        if (!takes(c, roomy(n, 2))) break;
        const double now = time_of(m, roomy(n, 2), c);
        EXPECT_GE(now, before * (1 - slack)) << m.name << " " << text_of(c);
        before = now;
      }
    }
}

TEST(VirtualTime, FallsWithFasterLinksOfEveryKernel) {
  const int n = 5;
  for (const Case& c : kernels_of(200000, 3)) {
    if (!takes(c, roomy(n, 3))) continue;
    Machine m = plain_gpus(n);
    m.memory = 0;
    double before = INFINITY;
    for (m.link = 0.5; m.link < 1000; m.link *= 4) {
      const double now = time_of(m, roomy(n, 3), c);
      EXPECT_LE(now, before) << text_of(c) << ", link " << m.link;
      before = now;
    }
  }
}

bool same(const Event& a, const Event& b) {
  return a.word == b.word && a.rank == b.rank && a.block == b.block && a.line == b.line && a.begin == b.begin &&
         a.end == b.end && a.arrived == b.arrived && a.step == b.step && a.bytes == b.bytes;
}

TEST(VirtualTime, IsTheSameInEveryRun) {
  for (const Machine& m : {plain_gpus(6), plain_cpus(6, 2)})
    for (const Case& c : kernels_of(5000, 3)) {
      if (!takes(c, roomy(6, 3))) continue;
      Trace first, second;
      time_of(m, roomy(6, 3), c, &first);
      time_of(m, roomy(6, 3), c, &second);
      EXPECT_TRUE(std::equal(first.begin(), first.end(), second.begin(), second.end(), same)) << text_of(c);
      EXPECT_FALSE(first.empty());
    }
}

// Ranks that share cores.

TEST(SharedCores, AreUsedByOneRankAfterTheOther) {
  for (const Case& c : kernels_of(5000, 1)) {
    Trace trace;
    const Machine m = plain_cpus(6, 2);
    if (!takes(c, roomy(6))) continue;
    time_of(m, roomy(6), c, &trace);
    // Words that do not wait fill their time: no two of one core's at once.
    std::vector<double> busy_until(2);
    for (const Event& e : trace) {
      if (e.word != model::Word::copy && e.word != model::Word::reduce) continue;
      double& until = busy_until[static_cast<std::size_t>(e.rank % 2)];
      EXPECT_GE(e.begin, until) << text_of(c) << ", rank " << e.rank << " line " << e.line;
      until = e.end;
    }
  }
}

TEST(SharedCores, CostAHandoverFromRankToRank) {
  const Machine m = plain_cpus(2, 1);
  // Rank 0 begins, waits in vain; rank 1 takes over and ends, since all have come; rank 0 sees it.
  const double turn = m.signal + m.handover;
  EXPECT_DOUBLE_EQ(time_of(m, roomy(2), {.kernel = Kernel::barrier}),
                   m.launch + turn + m.signal + m.wait + m.handover + m.wait);
}

// Kernels that are wrong.

std::string said_of(const std::function<void(TimedBlock&, const Call&)>& body) {
  try {
    time_of(ideal(2, 100), 1, body);
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return "nothing";
}

TEST(AnUnsoundKernel, IsToldWithWhoWaitsForWhat) {
  const auto body = [](TimedBlock& block, const Call&) {
    if (block.rank() == 0) block.signal(data(1), 1);
    if (block.rank() == 1) block.wait(data(0), 2);
  };
  const std::string who = "nobody can go on: rank 1 block 0 in a kernel of the caller (timed_rules_test.cpp:";
  EXPECT_EQ(said_of(body).substr(0, who.size()), who);
  EXPECT_NE(said_of(body).find(" waits for data from rank 0, wants 2, sees 1"), std::string::npos) << said_of(body);
}

TEST(AnUnsoundKernel, MayMissAnExchange) {
  const auto body = [](TimedBlock& block, const Call& call) {
    if (block.rank() == 0) block.enter(call, Reach::out);
  };
  EXPECT_NE(said_of(body).find(" waits for enter from all, 1 of 2 have come"), std::string::npos) << said_of(body);
}

TEST(AnUnsoundKernel, MayMissPackets) {
  const auto body = [](TimedBlock& block, const Call& call) {
    if (block.rank() == 0) block.get_packets(call, call.out, 1, 0, kAll);
  };
  EXPECT_NE(said_of(body).find(" waits for packets from rank 1"), std::string::npos) << said_of(body);
}

TEST(AnUnsoundKernel, MayEnterAnotherCall) {
  World world(ideal(2, 100), roomy(2), Backing::none);
  const auto program = [](Rank& me) {
    Launch launch;
    launch.call.count = 10 + static_cast<std::size_t>(me.rank());
    me.call({&launch, 1});
  };
  EXPECT_THROW(world.run(program), std::logic_error);
}

TEST(AnUnsoundKernel, MayTouchMemoryOfNobody) {
  static char stray[64];
  const auto body = [](TimedBlock& block, const Call& call) { block.copy(one(stray), call.in, 64); };
  EXPECT_EQ(said_of(body), "rank 0 block 0 in a kernel of the caller touches memory that is none of this world's");
}

}  // namespace
}  // namespace tutti::timed
