// Reads of what nobody wrote, and writes over what nobody has read.
#include <gtest/gtest.h>

#include "tests/model/defects.hpp"

namespace tutti::model {
namespace {

/// Both ranks enter and fill the first slot of their outbox; each reads what `reads` says. Twice.
Said run_outboxes(const std::function<void(ModelBlock&, const Call&, int call)>& body) {
  Said said;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    Model model(tight_geometry(2, 1, kLeastSlots), seed);
    const int in = model.allocate_segment(64), out = model.allocate_segment(64);
    model.run([&](ModelRank& me) {
      Call call;
      call.in = model.segment(in, me.rank());
      call.out = model.segment(out, me.rank());
      for (int i = 0; i < 2; ++i) {
        const auto with_call = [&body, i](ModelBlock& block, const Call& its) {
          block.enter(its, Reach::nothing);
          body(block, its, i);
          block.leave();
        };
        me.write(call.out, 64);
        me.call({Op{.name = "of_the_test", .body = with_call, .call = call, .in_bytes = 64}});
        me.write(call.out, 64);
      }
    });
    for (const Finding& f : model.findings()) said.defects.insert(f.defect);
    said.clean += model.findings().empty();
    if (said.text.empty()) said.text = model.report();
  }
  return said;
}

void exchange(ModelBlock& block, const Call& call, bool fills, bool reads) {
  const int peer = 1 - block.rank();
  if (fills) block.copy(one(block.outbox(block.rank(), 0)), call.in, 32);
  block.signal(data(peer), 1);
  block.wait(data(peer), 1);
  if (reads) block.copy(one(call.out), block.outbox(peer, 0), 32);
  block.advance_sent(data(peer), 1);
  block.advance_received(data(peer), 1);
}

TEST(Contents, OfASlotThatIsFilledAndReadInEachCallAreInOrder) {
  EXPECT_EQ(run_outboxes([](ModelBlock& block, const Call& call, int) { exchange(block, call, true, true); }).text, "");
}

TEST(Contents, OfASlotThatNobodyFilledAreUnwritten) {
  const Said said =
      run_outboxes([](ModelBlock& block, const Call& call, int) { exchange(block, call, block.rank() == 0, true); });
  EXPECT_EQ(said.clean, 0);
  EXPECT_TRUE(found(said, Defect::unwritten)) << said.text;
  EXPECT_TRUE(says(said, "rank 0 block 0 in of_the_test, call 0, step 2, word 5 (copy at defects_contents.cpp:"))
      << said.text;
  EXPECT_TRUE(says(said, "reads [0, 32) of slot 0 of block 0 in the arena of rank 1, which nobody has written\n"))
      << said.text;
}

TEST(Contents, OfASlotThatOnlyAFormerCallFilledAreUnwritten) {
  // The data is right, for it is the same in both calls.
  const Said said = run_outboxes([](ModelBlock& block, const Call& call, int number) {
    exchange(block, call, number == 0 || block.rank() == 0, true);
  });
  EXPECT_EQ(said.clean, 0);
  EXPECT_EQ(said.defects, std::set{Defect::unwritten}) << said.text;
  EXPECT_TRUE(says(said, "nobody has written in this call; in another rank 1 block 0 in of_the_test, call 0"))
      << said.text;
}

TEST(Contents, OfASlotThatNobodyHasReadAreOverwrittenByTheNextCall) {
  const Said said =
      run_outboxes([](ModelBlock& block, const Call& call, int) { exchange(block, call, true, block.rank() == 0); });
  EXPECT_EQ(said.clean, 0);
  EXPECT_EQ(said.defects, std::set{Defect::overwritten}) << said.text;
  EXPECT_TRUE(says(said, "rank 0 block 0 in of_the_test, call 1, step 1, word 2 (copy at defects_contents.cpp:"))
      << said.text;
  EXPECT_TRUE(says(said,
                   "writes [0, 32) of slot 0 of block 0 in the arena of rank 0, which nobody has read "
                   "since rank 0 block 0 in of_the_test, call 0"))
      << said.text;
}

/// Runs a kernel on two ranks that copies `copied` bytes, in a call that has as many of input and output as said.
void copy_on_both_ranks(Model& model, std::size_t copied, std::size_t in_bytes, std::size_t out_bytes) {
  const int in = model.allocate_segment(64), out = model.allocate_segment(64);
  model.run([&](ModelRank& me) {
    Call call;
    call.in = model.segment(in, me.rank());
    call.out = model.segment(out, me.rank());
    const auto body = [copied](ModelBlock& block, const Call& its) { block.copy(one(its.out), its.in, copied); };
    me.call({Op{.name = "of_the_test", .body = body, .call = call, .in_bytes = in_bytes, .out_bytes = out_bytes}});
  });
}

TEST(Contents, OfAnInputBeyondWhatTheCallerFilledAreUnwritten) {
  Model model(tight_geometry(2, 1, kLeastSlots), 0);
  copy_on_both_ranks(model, 48, 40, 48);
  EXPECT_NE(model.report().find("reads [40, 48) of segment 0 of rank 0, which nobody has written\n"), std::string::npos)
      << model.report();
  EXPECT_EQ(model.findings().size(), 2u) << model.report();
}

TEST(Contents, OfAnOutputThatTheKernelLeavesOutAreUnwritten) {
  Model model(tight_geometry(2, 1, kLeastSlots), 0);
  copy_on_both_ranks(model, 60, 64, 64);
  EXPECT_NE(model.report().find(
                "the caller on rank 1, around its of_the_test of call 0, reads [60, 64) of segment 1 of rank 1, "
                "which nobody has written since the caller on rank 1"),
            std::string::npos)
      << model.report();
}

TEST(Contents, OfAnOutputOfTheCallBeforeAreSpoilt) {
  // The second call reads its own output of the first, which its caller may have changed.
  Model model(tight_geometry(2, 1, kLeastSlots), 0);
  const int in = model.allocate_segment(64), out = model.allocate_segment(64);
  model.run([&](ModelRank& me) {
    Call call;
    call.in = model.segment(in, me.rank());
    call.out = model.segment(out, me.rank());
    for (int i = 0; i < 2; ++i) {
      const auto body = [i](ModelBlock& block, const Call& its) {
        if (i == 1) block.reduce(one(its.out), two(its.in, its.out), 16, its.reduction);
        if (i == 0) block.copy(one(its.out), its.in, 64);
      };
      me.call({Op{.name = "of_the_test", .body = body, .call = call, .in_bytes = 64, .out_bytes = 64}});
    }
  });
  EXPECT_EQ(model.findings().size(), 2u) << model.report();
  EXPECT_NE(model.report().find("call 1, step 0, word 1 (reduce at defects_contents.cpp:"), std::string::npos);
  EXPECT_NE(model.report().find("reads [0, 64) of segment 1 of rank 0, which nobody has written since the caller"),
            std::string::npos)
      << model.report();
}

TEST(Contents, OfAMessageWithoutItsHeaderAreUnwritten) {
  const Case c{.kernel = Kernel::send, .count = 60, .root = 1, .to = 2, .mapped = Mapped::none};
  // Of the third only: its slot holds the header of the first, which says the same.
  const auto third = [](const WordAt& at) { return at.word == Word::offer && at.call == 2; };
  const Said said = run_broken(c, 3, 3, third);
  EXPECT_EQ(said.clean, 0);
  EXPECT_TRUE(found(said, Defect::unwritten)) << said.text;
  EXPECT_TRUE(says(said, "(accept at p2p.hpp:")) << said.text;
  EXPECT_TRUE(says(said, "of message slot 0 of rank 1 of block 0 in the arena of rank 2")) << said.text;
}

TEST(Contents, OfAMessageThatIsNotTakenAreOverwritten) {
  const Case c{.kernel = Kernel::send, .count = 60, .root = 1, .to = 2, .mapped = Mapped::none};
  const Said said =
      run_broken(c, 3, 4, [](const WordAt& at) { return at.rank == 2 && at.word == Word::copy && at.call == 0; });
  EXPECT_EQ(said.clean, 0);
  EXPECT_TRUE(found(said, Defect::overwritten)) << said.text;
  EXPECT_TRUE(says(said, "(copy at p2p.hpp:")) << said.text;
}

TEST(Contents, OfPacketsThatAreNotTakenAreOverwritten) {
  const Case c{.kernel = Kernel::packets_all_gather, .count = 40, .mapped = Mapped::none};
  const Said said = run_broken(
      c, 3, 3, [](const WordAt& at) { return at.rank == 1 && at.word == Word::get_packets && at.call == 0; });
  EXPECT_EQ(said.clean, 0);
  EXPECT_TRUE(found(said, Defect::overwritten)) << said.text;
  EXPECT_TRUE(says(said,
                   "of packets of rank 0, half 0 of block 0 in the arena of rank 1, which nobody has read since "
                   "rank 0 block 0 in packets_all_gather, call 0"))
      << said.text;
}

TEST(Contents, OfASlotInARingAreUnwrittenWithoutTheCopyIntoIt) {
  const Case c{.kernel = Kernel::ring_all_gather, .count = 60, .mapped = Mapped::none};
  const Said said = run_broken(c, 3, 2, of_rank_1(Word::copy));
  EXPECT_EQ(said.clean, 0);
  EXPECT_TRUE(found(said, Defect::unwritten)) << said.text;
}

}  // namespace
}  // namespace tutti::model
