// Words left out of the kernels: what the model says.
#include <gtest/gtest.h>

#include "tests/model/defects.hpp"

namespace tutti::model {
namespace {

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
  EXPECT_NE(said.text.find("slot "), std::string::npos) << said.text;
}

TEST(Defects, AMissingWaitForCreditIsARace) {
  // In a ring of no more ranks than slots, the data that comes round says as much as the credits.
  const Said said = run_broken(staged_ring(), 5, 1, of_rank_1(Word::wait, Purpose::credit));
  EXPECT_TRUE(found(said, Defect::race)) << said.text;
  EXPECT_EQ(said.clean, 0);
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
    EXPECT_NE(said.text.find(" slot "), std::string::npos) << tutti::name_of(kernel) << said.text;
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

}  // namespace
}  // namespace tutti::model
