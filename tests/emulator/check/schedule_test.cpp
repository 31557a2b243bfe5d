// Hangs, residency, and that a seed means one run.
#include "tests/emulator/check/schedule.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/emulator/check/schedule_trial.hpp"

namespace tutti::emulator {
namespace {

const std::string kPollForever =
    "wait: ld.relaxed.sys.global.u64 %l1, [%a1];\n setp.eq.u64 %p1, %l1, 0;\n @%p1 bra wait;\n";

void expect_found(Trial& trial, Defect defect, const std::vector<std::string>& parts) {
  const auto outcome = trial.run_seeds(20);
  EXPECT_EQ(outcome.count(defect), 20) << "expected: " << name_of(defect) << "\n" << outcome.summary();
  for (const auto& [kind, what] : outcome.found)
    for (const std::string& part : parts)
      EXPECT_NE(what.find(part), std::string::npos) << "expected: " << part << "\ngot: " << what;
}

TEST(Hangs, TellWhoPollsWhat) {
  Trial trial({kPollForever, ""});
  trial.memory().name({NamedRange::Kind::flag, trial.buffer(1), 8, "credit, rank 1 to rank 0"});
  expect_found(
      trial, Defect::hang,
      {"hang: nobody can go on", "rank 0 block 0 thread 0 of rank0 at PTX line",
       "polls: it read 0x0 in flag `credit, rank 1 to rank 0' + 0 (buffer 1 of rank 0 + 0), by rank0 at PTX line "
       "23"});
}

TEST(Hangs, TellWhoWaitsAtWhichBarrier) {
  Trial trial({"setp.eq.u32 %p0, %t, 5;\n @%p0 bra poll;\n bar.sync 3;\n bra end;\n poll:\n" + kPollForever + "end:\n"},
              64);
  expect_found(trial, Defect::hang, {"and 62 more of its block wait at barrier 3", "rank 0 block 0 thread 5"});
}

TEST(Hangs, OfPollsThatNeverReadTheSameAreFoundToo) {
  // A weak store in between: no circle is closed.
  Trial trial(
      {"mov.u32 %r1, 0;\n again: add.u32 %r1, %r1, 1;\n st.global.u32 [%a0], %r1;\n"
       "ld.relaxed.sys.global.u64 %l1, [%a1];\n bra again;\n"});
  const auto outcome = trial.run_seeds(1);
  EXPECT_EQ(outcome.count(Defect::hang), 1) << outcome.summary();
}

TEST(Hangs, ForWantOfResidentBlocksAreNamed) {
  // Block 0 waits for block 1 of its own launch.
  Trial trial({"mov.u32 %r1, %ctaid.x;\n setp.eq.u32 %p0, %r1, 0;\n @%p0 bra wait;\n mov.u64 %l0, 1;\n"
               "st.release.gpu.global.u64 [%a1], %l0;\n bra end;\n" +
               kPollForever + "end:\n"},
              1, 2);
  auto outcome = trial.run_seeds(20);
  EXPECT_EQ(outcome.clean, 20) << outcome.summary();
  trial.settings().resident = 1;
  outcome = trial.run_seeds(20);
  EXPECT_GT(outcome.count(Defect::too_few_residents), 0) << outcome.summary();
  EXPECT_GT(outcome.clean, 0) << "block 1 never began first: " << outcome.summary();
  EXPECT_EQ(outcome.count(Defect::too_few_residents) + outcome.clean, 20) << outcome.summary();
  EXPECT_NE(outcome.summary().find("1 of the 2 blocks of rank0 have not begun: the device holds 1 at once"),
            std::string::npos)
      << outcome.summary();
}

TEST(Hangs, InLoopsWithoutStrongAccessesAreNamed) {
  Trial trial({"on: bra on;\n"});
  trial.settings().endless = 100000;
  expect_found(trial, Defect::endless_loop, {"100000 instructions", "rank 0 block 0 thread 0"});
}

TEST(Residency, LetsBlocksFollowEachOther) {
  Trial trial({"red.relaxed.gpu.global.add.u64 [%a0], 1;\n"}, 8, 16);
  trial.settings().resident = 3;
  const auto outcome = trial.run_seeds(20, [&] { ASSERT_EQ(trial.word(0, 0), 128u); });
  EXPECT_EQ(outcome.clean, 20) << outcome.summary();
}

TEST(Faults, OfTheMachineAreFound) {
  Trial trial({"ld.global.u64 %l1, [%a0+4];\n"});
  expect_found(trial, Defect::fault, {"misaligned"});
}

TEST(Seeds, MeanOneRunEach) {
  const std::string body =
      "atom.relaxed.sys.global.add.u64 %l1, [%a0], 1;\n mov.u32 %r1, %ctaid.x;\n"
      "mad.lo.s32 %r1, %r1, 4, %t;\n mul.wide.u32 %l0, %r1, 8;\n add.u64 %l0, %l0, %a2;\n"
      "st.global.u64 [%l0], %l1;\n";
  Trial trial({body}, 4, 2);
  std::set<std::vector<std::uint64_t>> orders;
  std::set<std::string> policies;
  const auto order_of = [&](std::uint64_t seed) {
    policies.insert(trial.run(seed).policy);
    std::vector<std::uint64_t> order;
    for (std::size_t k = 0; k < 8; ++k) order.push_back(trial.word(2, k));
    return order;
  };
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto order = order_of(seed);
    EXPECT_EQ(order, order_of(seed)) << "seed " << seed;
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 20u);
  EXPECT_GE(policies.size(), 7u);
}

TEST(Patience, OfAKernelThatLooksElsewhereAfterManyPollsIsEnough) {
  // After 64 polls the kernel looks at another word, as tutti's waits look at who has failed.
  Trial trial(
      {"mov.u32 %r1, 0;\n again: ld.relaxed.sys.global.u64 %l1, [%a1];\n setp.ne.u64 %p1, %l1, 0;\n"
       "@%p1 bra end;\n add.u32 %r1, %r1, 1;\n setp.lt.u32 %p1, %r1, 64;\n @%p1 bra again;\n"
       "ld.relaxed.sys.global.u64 %l1, [%a1+8];\n setp.eq.u64 %p1, %l1, 0;\n @%p1 bra again;\n end:\n",
       "mov.u64 %l0, 1;\n st.relaxed.sys.global.u64 [%a1+8], %l0;\n"});
  const auto outcome = trial.run_seeds(50);
  EXPECT_EQ(outcome.clean, 50) << outcome.summary();
}

}  // namespace
}  // namespace tutti::emulator
