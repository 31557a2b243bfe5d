// Flags, fences and barriers: what orders accesses is found clean, what does not is found and named.
#include <gtest/gtest.h>

#include <set>

#include "tests/emulator/check/schedule_trial.hpp"

namespace tutti::emulator {
namespace {

constexpr int kSeeds = 1000;

std::string operator+(std::string a, const char* b) { return a.append(b); }

// Rank 0 writes 8 bytes of data to rank 1 and sets its flag; rank 1 waits for the flag and reads the data.
const std::string kWriteData = "mov.u64 %l0, 7;\n st.global.u64 [%a2], %l0;\n";
const std::string kSetFlag = "mov.u64 %l1, 1;\n st.release.sys.global.u64 [%a3], %l1;\n";
const std::string kPoll = "wait: ld.relaxed.sys.global.u64 %l1, [%a3];\n setp.eq.u64 %p1, %l1, 0;\n @%p1 bra wait;\n";
const std::string kAcquire = "ld.acquire.sys.global.u64 %l1, [%a3];\n";
const std::string kReadData = "ld.global.u64 %l2, [%a2];\n st.global.u64 [%a2+64], %l2;\n";

void expect_clean(Trial& trial) {
  const auto outcome = trial.run_seeds(kSeeds, [&] { ASSERT_EQ(trial.word(2, 8), 7u); });
  EXPECT_EQ(outcome.clean, kSeeds) << outcome.summary();
}

/// In most of 20 seeds, and under no other name.
void expect_found(Trial& trial, Defect defect, int at_least = 15) {
  const auto outcome = trial.run_seeds(20);
  EXPECT_GE(outcome.count(defect), at_least) << "expected: " << name_of(defect) << "\n" << outcome.summary();
  EXPECT_EQ(outcome.count(defect) + outcome.clean, 20) << "expected only: " << name_of(defect) << "\n"
                                                       << outcome.summary();
}

void name_flag_and_slot(Trial& trial) {
  trial.memory().name({NamedRange::Kind::slot, trial.buffer(2), 64, "slot 0 of the inbox of rank 1, from rank 0"});
  trial.memory().name({NamedRange::Kind::flag, trial.buffer(3), 8, "data, rank 0 to rank 1"});
}

TEST(Flags, OrderDataByReleaseAndAcquire) {
  Trial trial({kWriteData + kSetFlag, kPoll + kAcquire + kReadData});
  expect_clean(trial);
}

TEST(Flags, OrderDataByFencesAroundRelaxedAccesses) {
  Trial trial({kWriteData + "fence.acq_rel.sys;\n mov.u64 %l1, 1;\n st.relaxed.sys.global.u64 [%a3], %l1;\n",
               kPoll + "fence.acq_rel.sys;\n" + kReadData.c_str()});
  expect_clean(trial);
}

TEST(Flags, OrderDataByAReleaseFollowedByARelaxedStoreOfTheSameThread) {
  Trial trial({kWriteData + kSetFlag + "mov.u64 %l1, 2;\n st.relaxed.sys.global.u64 [%a3], %l1;\n",
               "wait: ld.relaxed.sys.global.u64 %l1, [%a3];\n setp.ne.u64 %p1, %l1, 2;\n @%p1 bra wait;\n" + kAcquire +
                   kReadData});
  expect_clean(trial);
}

TEST(Flags, OrderDataOfAllThreadsOfABlockWithBarriers) {
  // Thread 0 writes; the last thread signals. Thread 0 waits; the last thread reads.
  Trial trial({"setp.ne.u32 %p0, %t, 0;\n @%p0 bra on;\n" + kWriteData +
                   "on: bar.sync 0;\n setp.ne.u32 %p0, %t, 63;\n" + "@%p0 bra end;\n" + kSetFlag.c_str() + "end:\n",
               "setp.ne.u32 %p0, %t, 0;\n @%p0 bra on;\n" + kPoll + kAcquire.c_str() +
                   "on: bar.sync 0;\n setp.ne.u32 %p0, %t, 63;\n @%p0 bra end;\n" + kReadData.c_str() + "end:\n"},
              64);
  expect_clean(trial);
}

TEST(Flags, OrderDataAlongAChainOfReadModifyWrites) {
  // Both ranks' blocks 0 and 1 count; who comes last knows what all wrote.
  Trial trial({"mov.u32 %r1, %ctaid.x;\n mul.wide.u32 %l0, %r1, 8;\n add.u64 %l0, %l0, %a2;\n mov.u64 %l1, 7;\n"
               "st.global.u64 [%l0], %l1;\n atom.acq_rel.gpu.global.add.u64 %l2, [%a1], 1;\n"
               "setp.ne.u64 %p0, %l2, 2;\n @%p0 bra end;\n"
               "ld.global.u64 %l3, [%a2];\n ld.global.u64 %l4, [%a2+8];\n ld.global.u64 %l5, [%a2+16];\n"
               "add.u64 %l3, %l3, %l4;\n add.u64 %l3, %l3, %l5;\n sub.u64 %l3, %l3, 14;\n"
               "st.global.u64 [%a2+64], %l3;\n end:\n"},
              1, 3);
  expect_clean(trial);
}

TEST(Flags, SetWithoutReleaseAreNamed) {
  Trial trial({kWriteData + "mov.u64 %l1, 1;\n st.relaxed.sys.global.u64 [%a3], %l1;\n", kPoll + kAcquire + kReadData});
  name_flag_and_slot(trial);
  expect_found(trial, Defect::flag_not_released);
}

TEST(Flags, SetByVolatileStoresAreNamed) {
  Trial trial({kWriteData + "mov.u64 %l1, 1;\n st.volatile.global.u64 [%a3], %l1;\n", kPoll + kAcquire + kReadData});
  name_flag_and_slot(trial);
  expect_found(trial, Defect::flag_not_released);
}

TEST(Flags, ReadWithoutAcquireAreNamed) {
  Trial trial({kWriteData + kSetFlag, kPoll + kReadData});
  name_flag_and_slot(trial);
  expect_found(trial, Defect::flag_not_acquired);
}

TEST(Flags, SetAtGpuScopeForAnotherGpuAreNamed) {
  Trial trial({kWriteData + "mov.u64 %l1, 1;\n st.release.gpu.global.u64 [%a3], %l1;\n", kPoll + kAcquire + kReadData});
  name_flag_and_slot(trial);
  expect_found(trial, Defect::wrong_scope);
}

TEST(Flags, ReadAtGpuScopeFromAnotherGpuAreNamed) {
  Trial trial({kWriteData + kSetFlag, kPoll + "ld.acquire.gpu.global.u64 %l1, [%a3];\n" + kReadData.c_str()});
  name_flag_and_slot(trial);
  expect_found(trial, Defect::wrong_scope);
}

TEST(Fences, OfNarrowScopeDoNotOrderRanks) {
  Trial trial({kWriteData + "fence.acq_rel.gpu;\n mov.u64 %l1, 1;\n st.relaxed.sys.global.u64 [%a3], %l1;\n",
               kPoll + kAcquire + kReadData});
  name_flag_and_slot(trial);
  expect_found(trial, Defect::wrong_scope);
}

TEST(Barriers, MissingBeforeASignalAreNamed) {
  Trial trial({"setp.ne.u32 %p0, %t, 0;\n @%p0 bra on;\n" + kWriteData + "on: setp.ne.u32 %p0, %t, 63;\n" +
                   "@%p0 bra end;\n" + kSetFlag.c_str() + "end:\n",
               kPoll + kAcquire + "setp.ne.u32 %p0, %t, 0;\n @%p0 bra end;\n" + kReadData.c_str() + "end:\n"},
              64);
  name_flag_and_slot(trial);
  // When the data are written after the signal, nothing tells that a barrier is missing.
  const auto outcome = trial.run_seeds(20);
  EXPECT_GE(outcome.count(Defect::missing_barrier), 5) << outcome.summary();
  EXPECT_EQ(outcome.clean, 0) << outcome.summary();
}

TEST(Barriers, MissingAfterAWaitAreNamed) {
  Trial trial({"setp.ne.u32 %p0, %t, 0;\n @%p0 bra end;\n" + kWriteData + kSetFlag.c_str() + "end:\n",
               "setp.ne.u32 %p0, %t, 0;\n @%p0 bra on;\n" + kPoll + kAcquire.c_str() +
                   "on: setp.ne.u32 %p0, %t, 63;\n @%p0 bra end;\n" + kReadData.c_str() + "end:\n"},
              64);
  name_flag_and_slot(trial);
  // Where the thread that waits comes late, the others look as if nobody waited.
  const auto outcome = trial.run_seeds(100);
  EXPECT_GE(outcome.count(Defect::missing_barrier), 5) << outcome.summary();
  EXPECT_EQ(outcome.count(Defect::missing_barrier) + outcome.count(Defect::unfilled_slot) +
                outcome.count(Defect::unread_slot),
            100)
      << outcome.summary();
}

TEST(Barriers, MissingBetweenThreadsOfABlockAreNamed) {
  const std::string write =
      "mul.wide.u32 %l0, %t, 4;\n mov.u64 %l1, shared;\n add.u64 %l1, %l1, %l0;\n"
      "st.shared.u32 [%l1], %t;\n";
  const std::string read =
      "xor.b32 %r1, %t, 33;\n mul.wide.u32 %l0, %r1, 4;\n mov.u64 %l1, shared;\n"
      "add.u64 %l1, %l1, %l0;\n ld.shared.u32 %r2, [%l1];\n";
  const std::string result =
      "setp.ne.u32 %p0, %t, 0;\n @%p0 bra end;\n mov.u64 %l2, 7;\n"
      "st.global.u64 [%a2+64], %l2;\n end:\n";
  Trial bad({write + read}, 64);
  expect_found(bad, Defect::missing_barrier, 20);
  Trial good({write + "bar.sync 0;\n" + read.c_str() + result.c_str()}, 64);
  expect_clean(good);
}

TEST(Barriers, OfAWarpOrderItsLanesOnly) {
  const std::string body =
      "mul.wide.u32 %l0, %t, 4;\n mov.u64 %l1, shared;\n add.u64 %l1, %l1, %l0;\n"
      "st.shared.u32 [%l1], %t;\n bar.warp.sync -1;\n xor.b32 %r1, %t, 1;\n"
      "mul.wide.u32 %l0, %r1, 4;\n mov.u64 %l1, shared;\n add.u64 %l1, %l1, %l0;\n"
      "ld.shared.u32 %r2, [%l1];\n setp.ne.u32 %p0, %t, 0;\n @%p0 bra end;\n mov.u64 %l2, 7;\n"
      "st.global.u64 [%a2+64], %l2;\n end:\n";
  Trial good({body}, 64);
  expect_clean(good);
  std::string across = body;
  across.replace(across.find("%t, 1;"), 6, "%t, 32;");
  Trial bad({across}, 64);
  expect_found(bad, Defect::missing_barrier, 20);
}

TEST(Barriers, ThatOneWarpOnlyArrivesAtOrderItBeforeTheOther) {
  // Warp 0 fills and arrives; warp 1 waits and reads.
  const auto body = [](const char* fill, const char* arrive) {
    return "mul.wide.u32 %l0, %t, 4;\n mov.u64 %l1, shared;\n add.u64 %l1, %l1, %l0;\n setp.ge.u32 %p0, %t, 32;\n"
           "@%p0 bra read;\n" +
           std::string(fill) + arrive +
           "bra end;\n read: bar.sync 1, 64;\n"
           "ld.shared.u32 %r2, [%l1+-128];\n setp.ne.u32 %p0, %t, 32;\n @%p0 bra end;\n mov.u64 %l2, 7;\n"
           "st.global.u64 [%a2+64], %l2;\n end:\n";
  };
  Trial good({body("st.shared.u32 [%l1], %t;\n", "bar.arrive 1, 64;\n")}, 64);
  expect_clean(good);
  Trial bad({body("", "bar.arrive 1, 64;\n st.shared.u32 [%l1], %t;\n")}, 64);
  const auto outcome = bad.run_seeds(20);
  EXPECT_EQ(outcome.count(Defect::missing_barrier), 20) << outcome.summary();
}

TEST(Slots, WrittenOverBeforeTheyAreReadAreNamed) {
  // The sender fills the slot twice and signals twice, without waiting for a credit in between.
  const std::string again =
      "mov.u64 %l0, 8;\n st.global.u64 [%a2], %l0;\n mov.u64 %l1, 2;\n"
      "st.release.sys.global.u64 [%a3], %l1;\n";
  Trial trial({kWriteData + kSetFlag + again.c_str(), kPoll + kAcquire + kReadData});
  name_flag_and_slot(trial);
  const auto outcome = trial.run_seeds(40);
  EXPECT_GE(outcome.count(Defect::unread_slot), 10) << outcome.summary();
  EXPECT_EQ(outcome.count(Defect::unread_slot) + outcome.clean, 40) << outcome.summary();
}

TEST(Slots, ReadBeforeTheyAreWaitedForAreNamed) {
  Trial trial({kWriteData + kSetFlag, kReadData});
  name_flag_and_slot(trial);
  const auto outcome = trial.run_seeds(20);
  EXPECT_GE(outcome.count(Defect::unfilled_slot), 5) << outcome.summary();
  EXPECT_EQ(outcome.clean, 0) << outcome.summary();
}

TEST(Slots, AreCleanWithCredits) {
  // Three uses of one slot; the credit flag lies at rank 0.
  const std::string send =
      "mov.u64 %l5, 0;\n loop: add.u64 %l5, %l5, 1;\n"
      "credit: ld.relaxed.sys.global.u64 %l1, [%a1];\n add.u64 %l1, %l1, 1;\n setp.lt.u64 %p1, %l1, %l5;\n"
      "@%p1 bra credit;\n ld.acquire.sys.global.u64 %l1, [%a1];\n"
      "mov.u64 %l0, 7;\n st.global.u64 [%a2], %l0;\n st.release.sys.global.u64 [%a3], %l5;\n"
      "setp.lt.u64 %p1, %l5, 3;\n @%p1 bra loop;\n";
  const std::string receive =
      "mov.u64 %l5, 0;\n loop: add.u64 %l5, %l5, 1;\n"
      "data: ld.relaxed.sys.global.u64 %l1, [%a3];\n setp.lt.u64 %p1, %l1, %l5;\n @%p1 bra data;\n" +
      kAcquire + kReadData +
      "st.release.sys.global.u64 [%a1], %l5;\n"
      "setp.lt.u64 %p1, %l5, 3;\n @%p1 bra loop;\n";
  Trial trial({send, receive});
  name_flag_and_slot(trial);
  expect_clean(trial);
}

// ---- older values ----

TEST(Loads, MayMissStoresThatAreNotOrdered) {
  // Store buffering: all four outcomes, also that neither rank sees the other's store.
  const auto side = [](const char* own, const char* other, const char* result) {
    return "mov.u64 %l0, 1;\n st.relaxed.sys.global.u64 [" + std::string(own) +
           "], %l0;\n ld.relaxed.sys.global.u64 %l1, [" + other + "];\n st.global.u64 [" + result + "], %l1;\n";
  };
  Trial trial({side("%a0", "%a2", "%a1"), side("%a2", "%a0", "%a3")});
  std::set<std::pair<std::uint64_t, std::uint64_t>> outcomes;
  const auto outcome = trial.run_seeds(300, [&] { outcomes.emplace(trial.word(1, 0), trial.word(3, 0)); });
  EXPECT_EQ(outcome.clean, 300) << outcome.summary();
  EXPECT_EQ(outcomes.size(), 4u);
}

TEST(Loads, SeeStoresAcrossSequentiallyConsistentFences) {
  const auto side = [](const char* own, const char* other, const char* result) {
    return "mov.u64 %l0, 1;\n st.relaxed.sys.global.u64 [" + std::string(own) +
           "], %l0;\n fence.sc.sys;\n ld.relaxed.sys.global.u64 %l1, [" + other + "];\n st.global.u64 [" + result +
           "], %l1;\n";
  };
  Trial trial({side("%a0", "%a2", "%a1"), side("%a2", "%a0", "%a3")});
  std::set<std::pair<std::uint64_t, std::uint64_t>> outcomes;
  const auto outcome = trial.run_seeds(kSeeds, [&] { outcomes.emplace(trial.word(1, 0), trial.word(3, 0)); });
  EXPECT_EQ(outcome.clean, kSeeds) << outcome.summary();
  EXPECT_EQ(outcomes.count({0, 0}), 0u);
  EXPECT_EQ(outcomes.size(), 3u);
}

TEST(Loads, NeverGoBackInOneThread) {
  Trial trial(
      {"mov.u64 %l0, 1;\n st.relaxed.sys.global.u64 [%a0], %l0;\n mov.u64 %l0, 2;\n"
       "st.relaxed.sys.global.u64 [%a0], %l0;\n",
       "ld.relaxed.sys.global.u64 %l0, [%a0];\n ld.relaxed.sys.global.u64 %l1, [%a0];\n"
       "st.global.u64 [%a2], %l0;\n st.global.u64 [%a2+8], %l1;\n"});
  std::set<std::pair<std::uint64_t, std::uint64_t>> outcomes;
  trial.run_seeds(kSeeds, [&] { outcomes.emplace(trial.word(2, 0), trial.word(2, 1)); });
  for (const auto& [first, second] : outcomes) EXPECT_LE(first, second);
  EXPECT_EQ(outcomes.size(), 6u);  // all others
}

TEST(Loads, NeverGoBackOverManyWrites) {
  // So many that the oldest are forgotten, by three ranks' threads that read all the while.
  const std::string write =
      "mov.u64 %l0, 0;\n again: add.u64 %l0, %l0, 1;\n st.relaxed.sys.global.u64 [%a0], %l0;\n"
      "setp.lt.u64 %p0, %l0, 400;\n @%p0 bra again;\n";
  const std::string read =
      "mov.u64 %l1, 0;\n mov.u32 %r0, 0;\n again: ld.relaxed.sys.global.u64 %l0, [%a0];\n"
      "setp.lt.u64 %p0, %l0, %l1;\n @%p0 trap;\n mov.u64 %l1, %l0;\n add.u32 %r0, %r0, 1;\n"
      "setp.lt.u32 %p0, %r0, 300;\n @%p0 bra again;\n";
  Trial trial({write, read, read}, 1, 1, {.staleness = 0.8});
  std::uint64_t stale = 0;
  const auto outcome = trial.run_seeds(50, [&] { stale += trial.memory().counts().stale_loads; });
  EXPECT_EQ(outcome.clean, 50) << outcome.summary();
  EXPECT_GT(stale, 1000u);
}

TEST(Loads, OfVectorsMayBeTorn) {
  Trial trial({"mov.u64 %l0, 1;\n st.relaxed.sys.global.v2.u64 [%a0], {%l0, %l0};\n",
               "ld.relaxed.sys.global.v2.u64 {%l0, %l1}, [%a0];\n st.global.u64 [%a2], %l0;\n"
               "st.global.u64 [%a2+8], %l1;\n"});
  std::set<std::pair<std::uint64_t, std::uint64_t>> outcomes;
  std::uint64_t torn = 0;
  trial.run_seeds(300, [&] {
    outcomes.emplace(trial.word(2, 0), trial.word(2, 1));
    torn += trial.memory().counts().torn_loads;
  });
  EXPECT_EQ(outcomes.size(), 4u);
  EXPECT_GT(torn, 0u);
}

TEST(Loads, OfOneScalarAreNeverTorn) {
  Trial trial({"mov.u64 %l0, -1;\n st.relaxed.sys.global.u64 [%a0], %l0;\n",
               "ld.relaxed.sys.global.u64 %l0, [%a0];\n st.global.u64 [%a2], %l0;\n"});
  std::set<std::uint64_t> outcomes;
  trial.run_seeds(300, [&] { outcomes.insert(trial.word(2, 0)); });
  EXPECT_EQ(outcomes, (std::set<std::uint64_t>{0, ~std::uint64_t{0}}));
}

TEST(Loads, ThatPollComeToTheNewestValueHoweverStaleOthersAre) {
  Trial trial({kWriteData + kSetFlag, kPoll + kAcquire + kReadData}, 1, 1, {.staleness = 1.0});
  expect_clean(trial);
}

TEST(ReadModifyWrites, LoseNoCount) {
  Trial trial({"red.relaxed.gpu.global.add.u64 [%a0], 1;\n"}, 64, 4);
  const auto outcome = trial.run_seeds(50, [&] { ASSERT_EQ(trial.word(0, 0), 256u); });
  EXPECT_EQ(outcome.clean, 50) << outcome.summary();
}

}  // namespace
}  // namespace tutti::emulator
