// Kernels that do one thing wrong.
#include <gtest/gtest.h>

#include "tests/model/defects.hpp"

namespace tutti::model {
namespace {

TEST(Defects, TwoBlocksThatWriteTheSameBytesRace) {
  const Said said = run_kernel_of(2, 2, [](ModelBlock& block, const Call& call) {
    // Block 0 writes [0, 32), block 1 [31, 63).
    if (block.rank() == 0) block.copy(one(call.out + 31 * block.index()), call.in, 32);
  });
  EXPECT_EQ(said.clean, 0);
  EXPECT_EQ(said.defects, std::set{Defect::race}) << said.text;
  EXPECT_NE(said.text.find("[31, 32) of segment 1 of rank 0"), std::string::npos) << said.text;
}

TEST(Defects, TwoBlocksThatReadTheSameBytesDoNot) {
  const Said said = run_kernel_of(
      2, 2, [](ModelBlock& block, const Call& call) { block.copy(one(block.outbox(block.rank(), 0)), call.in, 32); });
  EXPECT_EQ(said.clean, 24) << said.text;
}

TEST(Defects, AWriteToAPeerThatNoSignalOrdersIsARace) {
  const auto kernel = [](bool waits) {
    return [waits](ModelBlock& block, const Call& call) {
      block.enter(call, Reach::out);
      if (block.rank() == 0) {
        block.copy(one(block.out_of(1)), call.in, 64);
        block.signal(data(1), 1);
        block.advance_sent(data(1), 1);
      } else {
        if (waits) block.wait(data(0), 1);
        block.copy(one(block.outbox(1, 0)), call.out, 64);
        block.advance_received(data(0), 1);
      }
    };
  };
  EXPECT_EQ(run_kernel_of(2, 1, kernel(true)).text, "");
  const Said said = run_kernel_of(2, 1, kernel(false));
  EXPECT_TRUE(found(said, Defect::race)) << said.text;
  EXPECT_EQ(said.clean, 0);
}

TEST(Defects, ALaterSignalIsNotTakenForTheOneThatWasWaitedFor) {
  // Rank 1 waits for the first signal only; that the second has come too is chance.
  const Said said = run_kernel_of(2, 1, [](ModelBlock& block, const Call& call) {
    block.enter(call, Reach::out);
    if (block.rank() == 0) {
      block.signal(data(1), 1);
      block.copy(one(block.out_of(1)), call.in, 64);
      block.signal(data(1), 2);
      block.advance_sent(data(1), 2);
    } else {
      block.wait(data(0), 1);
      block.copy(one(block.outbox(1, 0)), call.out, 64);
      block.wait(data(0), 2);
      block.advance_received(data(0), 2);
    }
  });
  EXPECT_EQ(said.clean, 0);
  EXPECT_TRUE(found(said, Defect::race)) << said.text;
}

TEST(Defects, TouchingMemoryAgainWithoutABarrierIsAMissingSync) {
  enum class Order { read_after_write, write_after_read, write_after_write, read_after_read };
  const auto kernel = [](Order order, bool sync) {
    return [=](ModelBlock& block, const Call& call) {
      if (block.rank() != 0) return;
      char* const slot = call.out;
      if (order == Order::read_after_write || order == Order::write_after_write)
        block.copy(one(slot), call.in, 32);
      else
        block.copy(one(block.outbox(0, 0)), slot, 32);
      if (sync) block.sync();
      if (order == Order::read_after_write || order == Order::read_after_read)
        block.copy(one(block.outbox(0, 1)), slot + 31, 32);
      else
        block.copy(one(slot + 31), call.in, 32);
    };
  };
  for (const Order order : {Order::read_after_write, Order::write_after_read, Order::write_after_write}) {
    const Said said = run_kernel_of(2, 1, kernel(order, false));
    EXPECT_EQ(said.defects, std::set{Defect::missing_sync}) << said.text;
    EXPECT_EQ(said.clean, 0);
    EXPECT_EQ(run_kernel_of(2, 1, kernel(order, true)).text, "");
  }
  EXPECT_EQ(run_kernel_of(2, 1, kernel(Order::read_after_read, false)).text, "");
}

TEST(Defects, AFlagThatDoesNotGrowIsFound) {
  const Said said = run_kernel_of(2, 1, [](ModelBlock& block, const Call&) {
    if (block.rank() != 0) return;
    block.signal(data(1), 2);
    block.signal(data(1), 1);
  });
  EXPECT_TRUE(found(said, Defect::counts)) << said.text;
}

TEST(Defects, AFlagWithTwoWritersNamesBoth) {
  Model model(tight_geometry(3, 1, kLeastSlots), 0);
  const_cast<Team&>(model.team(2)).rank = 1;  // takes itself for another
  model.run([&](ModelRank& me) {
    const auto body = [](ModelBlock& block, const Call&) {
      if (block.rank() == 1) block.signal(data(0), 1);
    };
    me.call({Op{.name = me.rank() == 1 ? "its_own" : "of_another", .body = body, .call = {}}});
  });
  const std::string said = model.report();
  const bool first = said.find("rank 2 block 0 in of_another, call 0, step 0, word 1 (signal at defects_kernels.cpp:") <
                     said.find(" sets a flag that rank 1 block 0 in its_own, call 0, step 0, word 1 (signal at");
  const bool second = said.find("rank 1 block 0 in its_own, call 0, step 0, word 1 (signal at defects_kernels.cpp:") <
                      said.find(" sets a flag that rank 2 block 0 in of_another, call 0, step 0, word 1 (signal at");
  EXPECT_NE(said.find("a flag has one writer"), std::string::npos) << said;
  EXPECT_TRUE(first || second) << said;
}

TEST(Defects, ReportsNameKernelCallStepWordLineAndRangeOfBothAccesses) {
  const Case c{.kernel = Kernel::ring_all_gather, .count = 60, .mapped = Mapped::none};
  const Said said = run_broken(c, 3, 1, of_rank_1(Word::wait, Purpose::data));
  for (const char* part : {"rank 1 block 0 in ring_all_gather, call 0, step ", ", word ",
                           " (copy at ring.hpp:", ", reads [0, ", ") of slot 0 of block 0 in the arena of rank 1",
                           "and nothing orders it after rank 0 block 0 in ring_all_gather, call 0, step 1, word "})
    EXPECT_TRUE(says(said, part)) << part << "\n" << said.text;
  EXPECT_FALSE(says(said, "/")) << "a path of some machine: " << said.text;
}

TEST(Defects, ASlotThatOverflowsIsStray) {
  const Said said = run_kernel_of(2, 1, [](ModelBlock& block, const Call& call) {
    if (block.rank() == 0) block.copy(one(block.outbox(0, 0) + block.geometry().slot_bytes - 63), call.in, 64);
  });
  EXPECT_EQ(said.defects, std::set{Defect::stray}) << said.text;
}

TEST(Defects, AnOverlapOfSourceAndPlaceIsStray) {
  const Said said = run_kernel_of(2, 1, [](ModelBlock& block, const Call& call) {
    if (block.rank() == 0) block.copy(one(call.out + 1), call.out, 32);
  });
  EXPECT_EQ(said.defects, std::set{Defect::stray}) << said.text;
}

}  // namespace
}  // namespace tutti::model
