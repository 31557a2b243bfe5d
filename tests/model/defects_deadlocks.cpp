// What the model says if nobody can go on.
#include <gtest/gtest.h>

#include "tests/model/defects.hpp"

namespace tutti::model {
namespace {

TEST(Deadlocks, AMissingSignalIsADeadlockThatSaysWhoWaitsForWhom) {
  const Said said = run_broken(staged_ring(), 3, 1, of_rank_1(Word::signal, Purpose::data));
  EXPECT_TRUE(found(said, Defect::deadlock)) << said.text;
  EXPECT_EQ(said.clean, 0);
  EXPECT_NE(said.text.find("rank 2 block 0 in ring_all_reduce"), std::string::npos) << said.text;
  EXPECT_NE(said.text.find("waits for data from rank 1 to rank 2: wants 1, sees 0"), std::string::npos) << said.text;
}

TEST(Deadlocks, AMissingCreditIsADeadlock) {
  const Said said = run_broken(staged_ring(), 3, 1, of_rank_1(Word::signal, Purpose::credit));
  EXPECT_TRUE(found(said, Defect::deadlock)) << said.text;
  EXPECT_NE(said.text.find("waits for credit from rank 1"), std::string::npos) << said.text;
}

TEST(Deadlocks, AMissingEnterIsADeadlockOfThePeers) {
  const Case c{.kernel = Kernel::barrier, .blocks = 1};
  const Said said = run_broken(c, 3, 2, of_rank_1(Word::enter));
  EXPECT_TRUE(found(said, Defect::deadlock)) << said.text;
  EXPECT_NE(said.text.find("waits for enter from rank 1"), std::string::npos) << said.text;
}

TEST(Deadlocks, SayAtWhichLineOfWhichCallAndWhoWaitsInACircle) {
  const Said said = run_broken(staged_ring(), 3, 1, of_rank_1(Word::signal, Purpose::data));
  EXPECT_TRUE(says(said, "rank 2 block 0 in ring_all_reduce, call 0, step 1, word 6 (wait at ring.hpp:")) << said.text;
  EXPECT_TRUE(says(said, "; ranks wait in a circle: 2 for 1 for 2")) << said.text;
}

TEST(Deadlocks, PutThoseTogetherWhoWaitForTheSame) {
  Model model(tight_geometry(9, 1, kLeastSlots), 1);
  model.run([&](ModelRank& me) {
    if (me.rank() == 4) return;
    me.call({run(Kernel::barrier, {}, 1, 0, 0)});
  });
  ASSERT_EQ(model.findings().size(), 1u) << model.report();
  const std::string& text = model.findings()[0].text;
  EXPECT_NE(text.find("ranks 0-3, 5-8, such as rank 0 block 0 in barrier, call 0"), std::string::npos) << text;
  EXPECT_NE(text.find("waits for enter from rank 4 to rank 0: wants 1, sees 0, but rank 4 is in no call after 0"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("circle"), std::string::npos) << text;
  EXPECT_LT(text.size(), 300u) << text;
}

TEST(Deadlocks, StayShortInALargeWorld) {
  const Case c{.kernel = Kernel::ring_all_reduce, .count = 4000, .mapped = Mapped::none};
  Model model(tight_geometry(16, 1, kLeastSlots), 3);
  Buffers buffers(model, buffer_bytes({c}, 16));
  model.omit(of_rank_1(Word::signal, Purpose::credit));
  model.run([&](ModelRank& me) { me.call({buffers.prepare(c, me.rank())}); });
  ASSERT_FALSE(model.findings().empty());
  const std::string& text = model.findings().back().text;
  EXPECT_EQ(model.findings().back().defect, Defect::deadlock);
  EXPECT_NE(text.find(" more waits"), std::string::npos) << text;
  EXPECT_LT(text.size(), 2000u) << text;
}

TEST(Deadlocks, OfTwoCommunicatorsInOppositeOrderAreACircleOfTheSession) {
  Model model(tight_geometry(3, 1, kLeastSlots), 5);
  Communicator& pair = model.communicator({2, 1}, tight_geometry(2, 1, kLeastSlots));
  Communicator& other = model.communicator({1, 2}, tight_geometry(2, 1, kLeastSlots));
  const Op barrier = run(Kernel::barrier, {}, 1, 0, 0);
  model.run([&](ModelRank& me) {
    if (me.rank() == 0) return;
    me.call(me.rank() == 1 ? pair : other, {barrier});
    me.call(me.rank() == 1 ? other : pair, {barrier});
  });
  ASSERT_EQ(model.findings().size(), 1u) << model.report();
  const std::string& text = model.findings()[0].text;
  EXPECT_NE(text.find("rank 1 of communicator 1 block 0 in barrier"), std::string::npos) << text;
  EXPECT_NE(text.find("waits for enter from rank 0 to rank 1"), std::string::npos) << text;
  EXPECT_NE(text.find("circle: 1 for 2 for 1 (ranks of the session)"), std::string::npos) << text;
}

}  // namespace
}  // namespace tutti::model
