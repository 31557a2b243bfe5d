// Every kind of defect that the model is there to find, planted in a kernel or in a kernel of the test's own.
#include <gtest/gtest.h>

#include <set>

#include "tests/model/calls.hpp"

namespace tutti::model {
namespace {

// ---- Defects
// ---------------------------------------------------------------------------------------------------------

/// What some schedules of a broken run make the model say.
struct Said {
  std::set<Defect> defects;
  std::string text;
  int clean = 0;  ///< schedules in which it found nothing
};

bool found(const Said& said, Defect defect) { return said.defects.count(defect) != 0; }

/// Runs `calls` calls of the case on each rank, one after the other, in many schedules.
Said run_broken(Case c, int ranks, int calls, const std::function<bool(const WordAt&)>& omit,
                const std::function<void(Model&)>& before = {}) {
  Said said;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    Model model(tight_geometry(ranks, c.blocks, kLeastSlots), seed);
    if (before) before(model);
    Buffers buffers(model, c.count * size_of(c.type) * static_cast<std::size_t>(ranks));
    model.omit(omit);
    model.run([&](ModelRank& me) {
      for (int i = 0; i < calls; ++i) {
        Case mine = c;
        if (c.shape() == Shape::message && me.rank() == c.to) mine.kernel = Kernel::recv;
        if (c.shape() == Shape::message && me.rank() != c.to && me.rank() != c.root) return;
        me.call({buffers.prepare(mine, me.rank())});  // nothing is verified: the data may well be wrong
      }
    });
    for (const Finding& f : model.findings()) said.defects.insert(f.defect);
    said.clean += model.findings().empty();
    if (said.text.empty()) said.text = model.report();
  }
  return said;
}

Case staged_ring() {
  return {.kernel = Kernel::ring_all_reduce, .count = 700, .mapped = Mapped::none, .in_place = false};
}

/// Every such word of rank 1.
std::function<bool(const WordAt&)> of_rank_1(Word word, Purpose purpose = Purpose::data) {
  return [=](const WordAt& at) { return at.rank == 1 && at.word == word && at.flags.purpose == purpose; };
}

TEST(Defects, NothingIsFoundInARunWithoutAny) {
  for (int k = 0; k < kKernels; ++k) {
    if (static_cast<Kernel>(k) == Kernel::recv) continue;
    const Case c{.kernel = static_cast<Kernel>(k), .count = 90, .to = 1, .mapped = Mapped::none};
    EXPECT_EQ(run_broken(c, 3, 3, {}).text, "") << text_of(c);
  }
}

TEST(Defects, AMissingWaitForDataIsARace) {
  const Said said = run_broken(staged_ring(), 3, 1, of_rank_1(Word::wait, Purpose::data));
  EXPECT_TRUE(found(said, Defect::race)) << said.text;
  EXPECT_EQ(said.clean, 0) << "it shows in every schedule";
  EXPECT_NE(said.text.find("rank 1 block 0 in ring_all_reduce"), std::string::npos) << said.text;
  EXPECT_NE(said.text.find("inbox slot"), std::string::npos) << said.text;
}

TEST(Defects, AMissingWaitForCreditIsARace) {
  // In a ring of no more ranks than slots, the data that comes round says as much as the credits.
  const Said said = run_broken(staged_ring(), 5, 1, of_rank_1(Word::wait, Purpose::credit));
  EXPECT_TRUE(found(said, Defect::race)) << said.text;
  EXPECT_EQ(said.clean, 0);
}

/// Five slots full, so that each is used again.
Case staged(Kernel kernel, int ranks) {
  Case c{.kernel = kernel, .count = 5 * tight_geometry(ranks, 1, kLeastSlots).slot_bytes / size_of(DataType::f32)};
  c.to = 1;
  c.blocks = kernel == Kernel::tree_all_reduce ? 2 : 1;
  c.mapped = Mapped::none;
  return c;
}

TEST(Defects, AMissingWaitForDataIsARaceInEveryKernelThatHasSlots) {
  for (int k = 0; k < kKernels; ++k) {
    const auto kernel = static_cast<Kernel>(k);
    if (by_packets(kernel) || shape_of(kernel) == Shape::nothing || shape_of(kernel) == Shape::message) continue;
    const auto waits = [](const WordAt& at) { return at.word == Word::wait && at.flags.purpose == Purpose::data; };
    const Said said = run_broken(staged(kernel, 4), 4, 1, waits);
    EXPECT_TRUE(found(said, Defect::race)) << tutti::name_of(kernel) << said.text;
    EXPECT_EQ(said.clean, 0) << tutti::name_of(kernel);
  }
}

TEST(Defects, AMissingWaitForCreditIsARaceInEveryKernelWhoseDataDoesNotSayAsMuch) {
  for (const Kernel kernel :
       {Kernel::ring_all_reduce, Kernel::ring_reduce_scatter, Kernel::ring_all_gather, Kernel::ring_broadcast,
        Kernel::ring_reduce, Kernel::two_shot_all_reduce, Kernel::one_shot_all_reduce, Kernel::direct_broadcast,
        Kernel::direct_reduce, Kernel::direct_gather, Kernel::direct_scatter, Kernel::tree_all_reduce,
        Kernel::tree_broadcast, Kernel::tree_reduce, Kernel::tree_gather, Kernel::tree_scatter,
        Kernel::pairwise_all_to_all}) {
    const auto waits = [](const WordAt& at) { return at.word == Word::wait && at.flags.purpose == Purpose::credit; };
    const Said said = run_broken(staged(kernel, 4), 4, 1, waits);
    EXPECT_TRUE(found(said, Defect::race)) << tutti::name_of(kernel) << said.text;
    EXPECT_NE(said.text.find("box slot"), std::string::npos) << tutti::name_of(kernel) << said.text;
  }
}

TEST(Defects, AMissingLeaveIsARaceWithTheCallersNextWrite) {
  const Case c{.kernel = Kernel::one_shot_all_reduce, .count = 90, .mapped = Mapped::all};
  const Said said = run_broken(c, 3, 1, of_rank_1(Word::leave));
  EXPECT_TRUE(found(said, Defect::race)) << said.text;
  EXPECT_NE(said.text.find("caller"), std::string::npos) << said.text;
}

TEST(Defects, LeavingOutEveryLeaveIsEarlyReturnAndARace) {
  for (const Kernel kernel : {Kernel::two_shot_all_reduce, Kernel::one_shot_all_reduce, Kernel::direct_reduce_scatter,
                              Kernel::direct_all_gather}) {
    const Case c{.kernel = kernel, .count = 90, .mapped = Mapped::all};
    const Said said = run_broken(c, 3, 1, [](const WordAt& at) { return at.word == Word::leave; });
    EXPECT_TRUE(found(said, Defect::race)) << text_of(c) << said.text;
    EXPECT_EQ(said.clean, 0) << text_of(c);
    EXPECT_NE(said.text.find("caller"), std::string::npos) << said.text;
  }
}

TEST(Defects, AMissingSignalIsADeadlockThatSaysWhoWaitsForWhom) {
  const Said said = run_broken(staged_ring(), 3, 1, of_rank_1(Word::signal, Purpose::data));
  EXPECT_TRUE(found(said, Defect::deadlock)) << said.text;
  EXPECT_EQ(said.clean, 0);
  EXPECT_NE(said.text.find("rank 2 block 0 in ring_all_reduce"), std::string::npos) << said.text;
  EXPECT_NE(said.text.find("waits for data from rank 1 to rank 2: wants 1, sees 0"), std::string::npos) << said.text;
}

TEST(Defects, AMissingCreditIsADeadlock) {
  const Said said = run_broken(staged_ring(), 3, 1, of_rank_1(Word::signal, Purpose::credit));
  EXPECT_TRUE(found(said, Defect::deadlock)) << said.text;
  EXPECT_NE(said.text.find("waits for credit from rank 1"), std::string::npos) << said.text;
}

TEST(Defects, AWrongAdvanceIsACountThatDoesNotMatch) {
  for (const Word word : {Word::advance_sent, Word::advance_received}) {
    for (const Purpose purpose : {Purpose::data, Purpose::credit}) {
      const Said said = run_broken(staged_ring(), 3, 1, of_rank_1(word, purpose));
      EXPECT_TRUE(found(said, Defect::counts)) << said.text;
      EXPECT_EQ(said.clean, 0);
    }
  }
  const Case outbox{.kernel = Kernel::one_shot_all_reduce, .count = 90, .mapped = Mapped::none};
  EXPECT_TRUE(found(run_broken(outbox, 3, 1, of_rank_1(Word::advance_uses)), Defect::counts));
}

TEST(Defects, AWrongAdvanceOfAMessageIsACountThatDoesNotMatch) {
  const Case c{.kernel = Kernel::send, .count = 300, .root = 1, .to = 2, .mapped = Mapped::none};
  for (const auto& [word, purpose] :
       {std::pair{Word::advance_sent, Purpose::p2p_data}, std::pair{Word::advance_received, Purpose::p2p_credit}})
    EXPECT_TRUE(found(run_broken(c, 3, 1, of_rank_1(word, purpose)), Defect::counts));
}

TEST(Defects, AMissingEnterIsADeadlockOfThePeers) {
  const Case c{.kernel = Kernel::barrier, .blocks = 1};
  const Said said = run_broken(c, 3, 2, of_rank_1(Word::enter));
  EXPECT_TRUE(found(said, Defect::deadlock)) << said.text;
  EXPECT_NE(said.text.find("waits for enter from rank 1"), std::string::npos) << said.text;
}

TEST(Defects, APullThatIsNotCreditedToTheSenderIsARace) {
  // The sender that does not wait returns while the receiver still reads its buffer.
  const Case c{.kernel = Kernel::send, .count = 300, .root = 1, .to = 2, .mapped = Mapped::all};
  const Said said = run_broken(c, 3, 1, of_rank_1(Word::wait, Purpose::p2p_credit));
  EXPECT_TRUE(found(said, Defect::race)) << said.text;
  EXPECT_NE(said.text.find("caller"), std::string::npos) << said.text;
}

TEST(Defects, AnOverwrittenMessageSlotIsARace) {
  const Case c{.kernel = Kernel::send, .count = 300, .root = 1, .to = 2, .mapped = Mapped::none};
  const Said said = run_broken(c, 3, 1, of_rank_1(Word::wait, Purpose::p2p_credit));
  EXPECT_TRUE(found(said, Defect::race)) << said.text;
  EXPECT_NE(said.text.find("message slot"), std::string::npos) << said.text;
}

TEST(Defects, PacketsPutWithoutHearingFromAPeerAreOverwritten) {
  // Without its reduce a rank runs ahead, and the third use overwrites what peers have not read.
  const Case c{.kernel = Kernel::packets_all_reduce, .count = 40, .mapped = Mapped::none};
  const Said said = run_broken(c, 3, 4, of_rank_1(Word::reduce_packets));
  EXPECT_TRUE(found(said, Defect::race)) << said.text;
  EXPECT_NE(said.text.find("packets"), std::string::npos) << said.text;
}

TEST(Defects, WipingPacketsThatPeersMayPutIsARace) {
  const Case c{.kernel = Kernel::packets_all_reduce, .count = 4, .mapped = Mapped::none};
  const auto near_the_end = [](Model& model) { model.set_uses(Region::packets, (std::uint64_t{1} << 32) - 3); };
  EXPECT_EQ(run_broken(c, 3, 4, {}, near_the_end).text, "");
  const Said said = run_broken(
      c, 3, 4, [](const WordAt& at) { return at.word == Word::leave && at.ordinal > 1; }, near_the_end);
  EXPECT_TRUE(found(said, Defect::race)) << said.text;
}

/// A kernel of the test's own. Each rank has two mapped buffers of 64 bytes, `in` and `out`, both of them filled.
Said run_kernel_of(int ranks, int blocks, const std::function<void(ModelBlock&, const Call&)>& body) {
  Said said;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    Model model(tight_geometry(ranks, blocks, kLeastSlots), seed);
    const int in = model.allocate_segment(64), out = model.allocate_segment(64);
    model.run([&](ModelRank& me) {
      Call call;
      call.in = model.segment(in, me.rank());
      call.out = model.segment(out, me.rank());
      call.count = 16;
      call.in_place = model.place_of(call.in);
      call.out_place = model.place_of(call.out);
      me.write(call.out, 64);
      me.call({Op{.name = "of_the_test", .body = body, .call = call, .blocks = blocks, .in_bytes = 64}});
      me.write(call.out, 64);
    });
    for (const Finding& f : model.findings()) said.defects.insert(f.defect);
    said.clean += model.findings().empty();
    if (said.text.empty()) said.text = model.report();
  }
  return said;
}

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

// ---- Agreement
// -------------------------------------------------------------------------------------------------------

/// Rank 1 calls something else; every rank must fail, none hang, and nothing be called a defect of the kernel.
void expect_all_fail(Case theirs, Case other, int ranks) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Model model(tight_geometry(ranks, 1, kLeastSlots), seed);
    Buffers buffers(model, 4096 * static_cast<std::size_t>(ranks));
    int returned = 0;
    model.run([&](ModelRank& me) {
      me.call({buffers.prepare(me.rank() == 1 ? other : theirs, me.rank())});
      ++returned;
    });
    EXPECT_EQ(returned, ranks) << text_of(theirs) << " and " << text_of(other);
    EXPECT_TRUE(model.findings().empty()) << model.report();
    EXPECT_EQ(model.failures().size(), static_cast<std::size_t>(ranks)) << model.report();
  }
}

TEST(Agreement, RanksThatCallDifferentThingsAllFailAndNoneHangs) {
  const Case ring = staged_ring();
  Case other = ring;
  other.count = 8;
  expect_all_fail(ring, other, 3);
  other = ring;
  other.op = ReduceOp::max;
  expect_all_fail(ring, other, 3);
  other = ring;
  other.kernel = Kernel::direct_reduce_scatter;
  expect_all_fail(ring, other, 4);
  const Case packets{.kernel = Kernel::packets_all_reduce, .count = 4};
  other = packets;
  other.count = 5;
  expect_all_fail(packets, other, 3);
}

TEST(Agreement, AMessageOfAnotherLengthFailsAtTheReceiver) {
  for (const Mapped mapped : {Mapped::all, Mapped::none}) {
    Model model(tight_geometry(2, 1, kLeastSlots), 7);
    Buffers buffers(model, 4096);
    model.run([&](ModelRank& me) {
      Case c{.kernel = me.rank() == 0 ? Kernel::send : Kernel::recv, .count = 300, .to = 1, .mapped = mapped};
      if (me.rank() == 1) c.count = 299;
      me.call({buffers.prepare(c, me.rank())});
    });
    ASSERT_FALSE(model.failures().empty());
    EXPECT_NE(model.failures().front().find("rank 1"), std::string::npos) << model.report();
    EXPECT_NE(model.failures().front().find("another message"), std::string::npos) << model.report();
    EXPECT_TRUE(model.findings().empty()) << model.report();
  }
}

}  // namespace
}  // namespace tutti::model
