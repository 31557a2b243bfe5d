// What words cost in virtual time: cases small enough to reckon by hand.
#include <algorithm>

#include "tests/timed_worlds.hpp"

namespace tutti::timed {
namespace {

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
  const double received = sent + m.flag + m.wait + m.word + bytes / m.block + m.signal;
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

TEST(VirtualTime, OfASignalToAllOnCpusSetsFlagsOneAfterTheOther) {
  const Machine m = plain_cpus(5);
  const auto body = [&m](TimedBlock& block, const Call&) {
    if (block.rank() == 2) block.signal(data(kAll), 1);
    if (block.rank() != 2) block.wait(data(2), 1);
    const int before = block.rank() > 2 ? block.rank() - 1 : block.rank();  // flags set before this rank's
    const double set = m.launch + m.signal + (block.rank() == 2 ? 3 : before) * m.each_flag;
    EXPECT_DOUBLE_EQ(block.now(), block.rank() == 2 ? set : set + m.flag + m.wait) << block.rank();
  };
  time_of(m, 1, body);
}

TEST(VirtualTime, OfACopyToSeveralPlacesIsThatOfAllItsStores) {
  Machine m = ideal(2, 100);
  m.block = 2;
  const auto body = [](TimedBlock& block, const Call& call) {
    block.copy(two(call.out + 65536, call.out + 131072), call.in, 4096);
    EXPECT_DOUBLE_EQ(block.now(), 4096);
    block.reduce(one(call.out + 65536), two(call.in, call.in + 131072), 1024, {});
    EXPECT_DOUBLE_EQ(block.now(), 2 * 4096);
  };
  EXPECT_DOUBLE_EQ(time_of(m, 1, body), 2 * 4096);
}

TEST(VirtualTime, OfACallIsThatOfItsLastBlock) {
  Machine m = ideal(2, 100);
  m.block = 1;
  const auto body = [](TimedBlock& block, const Call& call) {
    block.copy(one(call.out + 65536), call.in, block.index() == 0 ? 4096 : 1024);
  };
  EXPECT_DOUBLE_EQ(time_of(m, 2, body), 4096);
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
  // All that is given in one go is under way before the first of it is seen.
  constexpr double kFlag = 100000;
  const Machine m = ideal(2, kFlag);
  const auto body = [](TimedBlock& block, const Call& call) {
    block.enter(call, Reach::out);
    const double begin = block.now();
    const auto give = [&](Flags flags, Count from, Count to) {
      for (Count k = from; k <= to; ++k) {  // more than a flag's own line remembers
        block.copy(one(block.out_of(1)), call.in + 65536, 1000);
        block.signal(flags, k);
      }
    };
    if (block.rank() == 0) {
      give(data(1), 1, 40);
      block.wait(credit(1), 1);
      give(data(1), 41, 60);
      give(p2p_data(1), 1, 20);
      return;
    }
    for (const Count k : {1, 2, 30, 31, 31, 3, 40}) {
      block.wait(data(0), k);
      EXPECT_DOUBLE_EQ(block.now(), begin + 1000 * static_cast<double>(k == 3 ? 31 : k) + kFlag) << k;
    }
    block.signal(credit(0), 1);
    const double again = block.now() + kFlag;
    for (const Count k : {1, 12, 20}) {
      block.wait(p2p_data(0), k);
      EXPECT_DOUBLE_EQ(block.now(), again + 1000 * static_cast<double>(20 + k) + kFlag) << k;
    }
    block.wait(data(0), 60);
    EXPECT_DOUBLE_EQ(block.now(), again + 40000 + kFlag);
  };
  time_of(m, 1, body);
}

}  // namespace
}  // namespace tutti::timed
