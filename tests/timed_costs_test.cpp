// What words cost in virtual time: cases small enough to reckon by hand, and what must hold of all.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "tests/timed_worlds.hpp"

namespace tutti::timed {
namespace {

Geometry roomy(int ranks, int blocks = 1) {
  return {.ranks = ranks,
          .blocks = blocks,
          .packet_blocks = blocks,
          .message_blocks = blocks,
          .slots = 4,
          .slot_bytes = std::max<std::size_t>(least_slot_bytes(ranks), 64 << 10),
          .p2p_slots = 2,
          .p2p_slot_bytes = 64 << 10,
          .packet_bytes = 1024};
}

/// Nothing costs anything but flags, and links: a byte each nanosecond.
Machine ideal(int ranks, double flag) {
  Machine m;
  m.ranks = ranks;
  m.flag = flag;
  m.link = 1;
  return m;
}

/// From a meeting until the last rank's call has ended.
double time_of(const Machine& machine, const Geometry& geometry, const Case& c, Trace* trace = nullptr) {
  World world(machine, geometry, Backing::none);
  const Addresses buffers(world, c);
  if (trace) world.record(trace);
  double last = 0;
  world.run([&](Rank& me) {
    if (!takes_part(c, me.rank())) return;
    const Launch launch = launch_of(c, buffers.call(c, me.rank()), me.rank());
    me.call({&launch, 1});
    last = std::max(last, me.now());
  });
  return last;
}

/// The same of a kernel of the test's own, in which each rank has a mapped buffer of 1 MiB as `in` and as `out`.
double time_of(const Machine& machine, int blocks, const std::function<void(TimedBlock&, const Call&)>& body) {
  World world(machine, roomy(machine.ranks, blocks), Backing::none);
  const int segment = world.allocate_segment(1 << 20);
  double last = 0;
  world.run([&](Rank& me) {
    Launch launch{.blocks = blocks, .body = body};
    launch.call.in = launch.call.out = world.segment(segment, me.rank());
    launch.call.in_place = launch.call.out_place = world.place_of(launch.call.in);
    me.call({&launch, 1});
    last = std::max(last, me.now());
  });
  return last;
}

TEST(VirtualTime, OfAMessageOnAnIdealMachineIsAFlagAndItsBytes) {
  const Case c{.kernel = Kernel::send, .count = 256, .to = 1, .mapped = Mapped::none};
  EXPECT_DOUBLE_EQ(time_of(ideal(2, 500), roomy(2), c), 500 + 1024);
}

TEST(VirtualTime, OfAMessageIsTheSumOfItsWords) {
  const Machine m = plain_gpus(2);
  const Case c{.kernel = Kernel::send, .count = 1000, .to = 1, .mapped = Mapped::none};
  const double bytes = 4000;
  const double stored = m.launch + m.wait + m.word + bytes / m.block;  // longer than the link and the memory take
  const double sent = std::max(stored + m.signal, stored + m.fence);
  const double received = sent + m.flag + 2 * m.wait + m.word + bytes / m.block + m.signal;
  EXPECT_DOUBLE_EQ(time_of(m, roomy(2), c), received);
}

TEST(VirtualTime, OfAPulledMessageHasALoadAndNoSlices) {
  const Machine m = plain_gpus(2);
  const Case c{.kernel = Kernel::send, .count = 100000, .to = 1};
  const double offered = m.launch + m.wait + m.signal;
  const double pulled = offered + m.flag + m.wait + m.word + m.load + 400000 / m.block;
  EXPECT_DOUBLE_EQ(time_of(m, roomy(2), c), pulled + m.signal + m.flag + m.wait);
}

TEST(VirtualTime, OfABarrierIsARoundOfFlagsForEachOfItsSteps) {
  const Machine m = plain_gpus(8);
  const double step = m.signal + m.flag + m.wait;
  EXPECT_DOUBLE_EQ(time_of(m, roomy(8), {.kernel = Kernel::dissemination_barrier}), m.launch + 3 * step);
  EXPECT_DOUBLE_EQ(time_of(m, roomy(8), {.kernel = Kernel::barrier}), m.launch + step);
}

TEST(VirtualTime, OfCpusCountsFlagsOneAfterTheOther) {
  const Machine m = plain_cpus(8);
  // All set seven flags; rank 0 sets that of rank 7 last, and rank 7 looks at it first, rank 0 at that of 7 last.
  const double set = m.launch + m.signal + 6 * m.each_flag;
  EXPECT_DOUBLE_EQ(time_of(m, roomy(8), {.kernel = Kernel::barrier}), set + m.flag + 6 * m.each_flag + m.wait);
}

TEST(VirtualTime, OfPacketsIsOneWayWithTheirDoubledBytes) {
  Machine m = ideal(3, 500);
  m.packet_wire = 2;
  m.packet_block = 0.5;
  m.wait = 30;
  m.word = 70;
  const Case c{.kernel = Kernel::packets_all_reduce, .count = 64};  // 256 bytes
  const double put = 70 + 2 * 256 / 0.5;                            // its block is slower than its port, 2 * 512 bytes
  const double added = put + 70 + 3 * 256 / 0.5;                    // longer than a flag takes
  EXPECT_DOUBLE_EQ(time_of(m, roomy(3), c), added + 30);
  m.packet_block = 0;
  EXPECT_DOUBLE_EQ(time_of(m, roomy(3), c), 70 + 2 * 512 + 500 + 30);
}

TEST(VirtualTime, OfARingIsItsStepsEachALatencyAndAChunk) {
  for (const int n : {2, 3, 5, 8}) {
    const std::size_t chunk = 8192;  // of one slice
    const Case c{
        .kernel = Kernel::ring_all_reduce, .count = chunk * static_cast<std::size_t>(n) / 4, .mapped = Mapped::none};
    const double step = 700 + static_cast<double>(chunk);
    EXPECT_DOUBLE_EQ(time_of(ideal(n, 700), roomy(n), c), 700 + 2 * (n - 1) * step) << n;
  }
}

TEST(VirtualTime, OfATwoShotOnAnIdealMachineIsTwoExchangesAndItsBytes) {
  for (const int n : {2, 4, 8}) {
    const std::size_t chunk = 8192;
    const Case c{.kernel = Kernel::two_shot_all_reduce, .count = chunk * static_cast<std::size_t>(n) / 4};
    // A port takes what its rank stores at the others and what they load from it: both ways alike.
    const double bytes = 2.0 * static_cast<double>(chunk) * (n - 1);
    EXPECT_DOUBLE_EQ(time_of(ideal(n, 700), roomy(n), c), 700 + bytes + 700) << n;
  }
}

// Two blocks, or two ranks, that share what moves their bytes.

void store_at_the_next(TimedBlock& block, const Call& call) {
  block.enter(call, Reach::out);
  block.copy(one(block.out_of(block.next()) + 4096 * block.index()), call.in + 65536, 4096);
  block.leave();
}

TEST(Contention, MakesBlocksOfOnePortTakeTurns) {
  const Machine m = ideal(2, 100);
  EXPECT_DOUBLE_EQ(time_of(m, 1, store_at_the_next), 100 + 4096 + 100);
  EXPECT_DOUBLE_EQ(time_of(m, 2, store_at_the_next), 100 + 2 * 4096 + 100);
}

TEST(Contention, IsNoneWhileBlocksAreSlowerThanTheirPort) {
  Machine m = ideal(2, 100);
  m.block = 0.5;
  EXPECT_DOUBLE_EQ(time_of(m, 1, store_at_the_next), 100 + 2 * 4096 + 100);
  EXPECT_DOUBLE_EQ(time_of(m, 2, store_at_the_next), 100 + 2 * 4096 + 100);
}

TEST(Contention, IsAtTheReceiversPortIfSeveralSendToIt) {
  const auto all_to_0 = [](TimedBlock& block, const Call& call) {
    block.enter(call, Reach::out);
    if (block.rank() > 0) block.copy(one(block.out_of(0) + 4096 * block.rank()), call.in, 4096);
    block.leave();
  };
  EXPECT_DOUBLE_EQ(time_of(ideal(4, 100), 1, all_to_0), 100 + 3 * 4096 + 100);
  Machine direct = ideal(4, 100);  // three links end at rank 0, each for one sender
  direct.wiring = Wiring::direct;
  direct.link = 0;
  direct.pair = 1;
  EXPECT_DOUBLE_EQ(time_of(direct, 1, all_to_0), 100 + 4096 + 100);
}

TEST(Contention, IsOfAllRanksOnASharedBus) {
  Machine m = ideal(4, 100);
  EXPECT_DOUBLE_EQ(time_of(m, 1, store_at_the_next), 100 + 4096 + 100);
  m.wiring = Wiring::shared;
  EXPECT_DOUBLE_EQ(time_of(m, 1, store_at_the_next), 100 + 4 * 4096 + 100);
}

TEST(Contention, IsInTheMemoryOfARankToo) {
  Machine m = ideal(2, 100);
  m.memory = 0.5;  // each rank's is read by itself and written by its peer
  EXPECT_DOUBLE_EQ(time_of(m, 1, store_at_the_next), 100 + 2 * 2 * 4096 + 100);
}

TEST(PostedStores, LetABlockGoOnUntilItSignals) {
  Machine m = ideal(2, 100);
  m.fence = 40;
  const auto body = [](TimedBlock& block, const Call& call) {
    block.enter(call, Reach::out);
    const double begin = block.now();
    block.copy(one(block.out_of(block.next())), call.in + 65536, 4096);
    EXPECT_DOUBLE_EQ(block.now(), begin);  // a block without a rate of its own issues them at once
    block.signal(data(block.next()), 1);
    EXPECT_DOUBLE_EQ(block.now(), begin + 4096 + 40);
    block.wait(data(block.prev()), 1);
    EXPECT_DOUBLE_EQ(block.now(), begin + 4096 + 40 + 100);
    block.signal(credit(block.prev()), 1);
    EXPECT_DOUBLE_EQ(block.now(), begin + 4096 + 40 + 100);  // nothing was stored since
  };
  time_of(m, 1, body);
}

TEST(Waits, TakeTheEarliestSignalThatSatisfiesThem) {
  const Machine m = ideal(2, 100);
  const auto body = [](TimedBlock& block, const Call& call) {
    block.enter(call, Reach::out);
    const double begin = block.now();
    if (block.rank() == 0) {
      for (Count k = 1; k <= 40; ++k) {  // more than a flag's own line remembers
        block.copy(one(block.out_of(1)), call.in + 65536, 1000);
        block.signal(data(1), k);
      }
      return;
    }
    for (const Count k : {1, 2, 30, 31, 31, 3, 40}) {
      block.wait(data(0), k);
      EXPECT_DOUBLE_EQ(block.now(), begin + 1000 * static_cast<double>(k == 3 ? 31 : k) + 100) << k;
    }
  };
  time_of(m, 1, body);
}

// What must hold of all kernels.

std::vector<Case> kernels_of(std::size_t count, int blocks) {
  std::vector<Case> cases;
  for (int k = 0; k < kKernels; ++k) {
    const auto kernel = static_cast<Kernel>(k);
    if (kernel == Kernel::recv || shape_of(kernel) == Shape::nothing) continue;
    for (const Mapped mapped : {Mapped::all, Mapped::none})
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
  EXPECT_EQ(said_of(body).substr(0, 70), "nobody can go on: rank 1 block 0 in a kernel of the caller (timed_cost");
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
