// What may be accessed at all, and how: bounds, life, mappings, initial values, proxies, packets.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/emulator/check/schedule_trial.hpp"

namespace tutti::emulator {
namespace {

void expect_found(Trial& trial, Defect defect, const std::string& text = "") {
  const auto outcome = trial.run_seeds(20);
  EXPECT_EQ(outcome.count(defect), 20) << "expected: " << name_of(defect) << "\n" << outcome.summary();
  for (const auto& [kind, what] : outcome.found)
    EXPECT_NE(what.find(text), std::string::npos) << "expected: " << text << "\ngot: " << what;
}

void expect_clean(Trial& trial, int seeds = 100) {
  const auto outcome = trial.run_seeds(seeds);
  EXPECT_EQ(outcome.clean, seeds) << outcome.summary();
}

TEST(Bounds, AreThoseOfTheAllocationToTheByte) {
  Trial good({"ld.global.u8 %r1, [%a0+255];\n"});
  expect_clean(good);
  Trial bad({"ld.global.u8 %r1, [%a0+256];\n"});
  expect_found(bad, Defect::out_of_bounds, "0 bytes behind buffer 0 of rank 0 of 256 bytes");
  Trial across({"mov.u64 %l0, 0;\n ld.global.v2.u64 {%l1, %l2}, [%a0+256];\n"});
  expect_found(across, Defect::out_of_bounds, "rank 0 block 0 thread 0 of rank0 at PTX line");
}

TEST(Bounds, OfGenericAddressesIncludeTheBlocksOwnSharedMemory) {
  Trial trial({"mov.u64 %l0, shared;\n cvta.shared.u64 %l0, %l0;\n st.u32 [%l0], %t;\n ld.u32 %r1, [%l0];\n"});
  expect_clean(trial);
}

TEST(Life, EndsWithFree) {
  Trial trial({"ld.global.u32 %r1, [%a1];\n"});
  trial.memory().free(trial.buffer(1));
  expect_found(trial, Defect::use_after_free, "buffer 1 of rank 0 + 0");
}

TEST(Mappings, AreNeededForMemoryOfOthers) {
  Trial trial({"ld.global.u32 %r1, [%a2];\n"});
  trial.memory().free(trial.buffer(2));
  trial.memory().add({.name = "private", .rank = 1, .device = 1, .begin = trial.buffer(2), .bytes = 256});
  trial.memory().initialise(trial.buffer(2), 256);
  expect_found(trial, Defect::not_mapped, "for rank 0");
}

TEST(Values, ThatNobodyWroteMustNotBeRead) {
  const auto forget = [](Trial& trial) {
    trial.memory().free(trial.buffer(0));
    trial.memory().add({.name = "fresh", .rank = 0, .device = 0, .begin = trial.buffer(0), .bytes = 256});
    trial.memory().initialise(trial.buffer(0), 5);
  };
  Trial weak({"ld.global.u8 %r1, [%a0+4];\n ld.global.u8 %r1, [%a0+5];\n"});
  forget(weak);
  expect_found(weak, Defect::uninitialised, "fresh + 5");
  Trial strong({"ld.relaxed.sys.global.u64 %l1, [%a0];\n"});
  forget(strong);
  expect_found(strong, Defect::uninitialised);
  Trial shared({"mov.u64 %l0, shared;\n ld.shared.u32 %r1, [%l0];\n"});
  expect_found(shared, Defect::uninitialised, "shared memory of block 0 of rank 0");
  Trial counted({"red.relaxed.gpu.global.add.u32 [%a0+8], 1;\n"});
  forget(counted);
  expect_found(counted, Defect::uninitialised);
  Trial good({"st.global.u8 [%a0+5], %t;\n ld.global.u8 %r1, [%a0+5];\n ld.global.u32 %r1, [%a0];\n"});
  forget(good);
  expect_clean(good);
}

TEST(SharedMemory, OfAnotherBlockIsNotReached) {
  // Block 0 tells block 1 where its shared memory lies, and stays.
  const std::string body =
      "mov.u32 %r1, %ctaid.x;\n setp.ne.u32 %p0, %r1, 0;\n @%p0 bra other;\n mov.u64 %l0, shared;\n"
      "cvta.shared.u64 %l0, %l0;\n st.u32 [%l0], %t;\n st.release.gpu.global.u64 [%a0], %l0;\n"
      "stay: ld.relaxed.gpu.global.u64 %l1, [%a1];\n setp.eq.u64 %p1, %l1, 0;\n @%p1 bra stay;\n bra end;\n"
      "other: ld.acquire.gpu.global.u64 %l0, [%a0];\n setp.eq.u64 %p1, %l0, 0;\n @%p1 bra other;\n"
      "ld.u32 %r2, [%l0];\n mov.u64 %l1, 1;\n st.relaxed.gpu.global.u64 [%a1], %l1;\n end:\n";
  Trial trial({body}, 1, 2);
  expect_found(trial, Defect::foreign_memory, "4 bytes of shared or local memory of rank 0 block 0");
}

TEST(Parameters, MustNotBeWritten) {
  Trial trial({"mov.b64 %l0, a0;\n cvta.param.u64 %l0, %l0;\n st.u32 [%l0], %t;\n"});
  expect_found(trial, Defect::read_only);
}

TEST(NonCoherentReads, OfOwnMemoryThatNobodyWritesAreClean) {
  Trial trial({"ld.global.nc.u32 %r1, [%a0];\n", "st.global.u32 [%a0+4], %t;\n"});
  expect_clean(trial);
}

TEST(NonCoherentReads, OfBytesWrittenDuringTheLaunchAreFoundThoughOrdered) {
  const std::string wait =
      "wait: ld.relaxed.sys.global.u64 %l1, [%a1];\n setp.eq.u64 %p1, %l1, 0;\n @%p1 bra wait;\n"
      "ld.acquire.sys.global.u64 %l1, [%a1];\n";
  const std::string write = "st.global.u32 [%a0], %t;\n mov.u64 %l1, 1;\n st.release.sys.global.u64 [%a1], %l1;\n";
  Trial late({wait + "ld.global.nc.u32 %r1, [%a0];\n", write});
  expect_found(late, Defect::non_coherent);
  Trial own({"st.global.u32 [%a0], %t;\n bar.sync 0;\n ld.global.nc.u32 %r1, [%a0];\n"});
  expect_found(own, Defect::non_coherent);
}

TEST(NonCoherentReads, OfAPeersMemoryAreFound) {
  Trial trial({"ld.global.nc.u32 %r1, [%a2];\n"});
  expect_found(trial, Defect::non_coherent, "memory of a peer");
}

TEST(Packets, MustBeOneScalar) {
  const auto packets = [](Trial& trial) {
    trial.memory().name({NamedRange::Kind::packet, trial.buffer(2), 64, "packets from rank 0", 8});
  };
  const std::string wait = "wait: ld.relaxed.sys.global.b64 %l1, [%a2];\n setp.eq.b64 %p1, %l1, 0;\n @%p1 bra wait;\n";
  Trial good({"mov.b64 %l0, 5;\n st.relaxed.sys.global.b64 [%a2], %l0;\n", wait});
  packets(good);
  expect_clean(good);
  Trial torn({"mov.u32 %r0, 5;\n st.relaxed.sys.global.v2.u32 [%a2], {%r0, %r0};\n"});
  packets(torn);
  expect_found(torn, Defect::torn_packet, "packets from rank 0");
  Trial weak({"mov.b64 %l0, 5;\n st.global.b64 [%a2], %l0;\n", wait});
  packets(weak);
  const auto outcome = weak.run_seeds(20);
  EXPECT_GE(outcome.count(Defect::torn_packet), 15) << outcome.summary();
}

TEST(Sizes, OfStrongAccessesMustAgreeUnlessTheyAreOrdered) {
  Trial mixed({"mov.u32 %r0, 5;\n st.relaxed.sys.global.u32 [%a0], %r0;\n", "ld.relaxed.sys.global.u64 %l0, [%a0];\n"});
  const auto outcome = mixed.run_seeds(20);
  EXPECT_EQ(outcome.count(Defect::mixed_sizes), 20) << outcome.summary();
  Trial ordered(
      {"mov.u32 %r0, 5;\n st.relaxed.sys.global.u32 [%a0], %r0;\n ld.relaxed.sys.global.u64 %l0, [%a0];\n"
       "st.global.u64 [%a0+8], %l0;\n"});
  const auto clean = ordered.run_seeds(50, [&] { ASSERT_EQ(ordered.word(0, 1), 5u); });
  EXPECT_EQ(clean.clean, 50) << clean.summary();
}

TEST(Bytes, WrittenSideBySideByDifferentThreadsDoNotRace) {
  const std::string at = "cvt.u64.u32 %l0, %t;\n add.u64 %l0, %l0, %a0;\n";
  Trial good({at + "st.global.u8 [%l0+3], %t;\n bar.sync 0;\n ld.global.u8 %r1, [%l0+3];\n"}, 64);
  expect_clean(good, 50);
  Trial bad({at + "st.global.u8 [%l0+3], %t;\n st.global.u8 [%l0+4], %t;\n"}, 64);
  expect_found(bad, Defect::missing_barrier);
}

TEST(Multimem, ReachesAllReplicas) {
  const auto window = [](Trial& trial) {
    trial.memory().add(MulticastWindow{
        0x7000'0000'0000,
        Trial::kBytes,
        {reinterpret_cast<std::uint64_t>(trial.buffer(0)), reinterpret_cast<std::uint64_t>(trial.buffer(2))}});
  };
  const std::string address = "mov.u64 %l0, 0x700000000000;\n";
  Trial store({address + "mov.u32 %r0, 5;\n multimem.st.relaxed.sys.global.u32 [%l0], %r0;\n"
                         "multimem.red.relaxed.sys.global.add.u32 [%l0], %r0;\n"
                         "multimem.ld_reduce.relaxed.sys.global.add.u32 %r1, [%l0];\n st.global.u32 [%a1], %r1;\n"});
  window(store);
  const auto outcome = store.run_seeds(20, [&] {
    ASSERT_EQ(store.word(0, 0), 10u);
    ASSERT_EQ(store.word(2, 0), 10u);
    ASSERT_EQ(store.word(1, 0), 20u);
  });
  EXPECT_EQ(outcome.clean, 20) << outcome.summary();
  // The scalars of a vector reach every replica, in whatever order.
  Trial vector({address + "mov.u32 %r0, 5;\n multimem.st.relaxed.sys.global.v4.f32 [%l0], {%r0, %r0, %r0, %r0};\n"});
  window(vector);
  const auto whole = vector.run_seeds(20, [&] {
    for (const std::size_t replica : {0, 2})
      for (const std::size_t pair : {0, 1}) ASSERT_EQ(vector.word(replica, pair), 0x5'0000'0005u) << replica << pair;
  });
  EXPECT_EQ(whole.clean, 20) << whole.summary();
  Trial outside({"mov.u64 %l0, 0x700000000100;\n multimem.ld_reduce.relaxed.sys.global.add.u32 %r1, [%l0];\n"});
  window(outside);
  expect_found(outside, Defect::out_of_bounds, "multicast");
}

TEST(Reports, NameBothAccessesWithKernelThreadAndLine) {
  Trial trial({"st.global.u32 [%a0], %t;\n", "ld.global.u32 %r1, [%a0];\n"});
  const auto outcome = trial.run_seeds(20);
  ASSERT_EQ(outcome.count(Defect::data_race), 20) << outcome.summary();
  const std::string& text = outcome.found[0].second;
  for (const char* part :
       {"data race: at buffer 0 of rank 0 + 0", "rank 0 block 0 thread 0 of rank0 at PTX line 23",
        "st.global.u32 [%a0], %t", "rank 1 block 0 thread 0 of rank1 at PTX line 46", "ld.global.u32 %r1, [%a0]"})
    EXPECT_NE(text.find(part), std::string::npos) << "expected: " << part << "\ngot: " << text;
}

TEST(TheHost, IsOrderedByItsStreamAlone) {
  Trial trial({"mov.u64 %l0, 7;\n st.global.u64 [%a2], %l0;\n", ""});
  const auto touch = [&](int rank) {
    return Work{{}, [&trial, rank](int stream) {
                  (void)rank;
                  trial.memory().host_access(stream, trial.buffer(2), 8, true);
                }};
  };
  trial.streams()[0].work.push_back(touch(0));
  expect_clean(trial);
  trial.streams()[0].work.pop_back();
  trial.streams()[1].work.push_back(touch(1));
  const auto outcome = trial.run_seeds(20);
  EXPECT_EQ(outcome.count(Defect::data_race), 20) << outcome.summary();
}

TEST(Launches, OfOneStreamFollowEachOther) {
  Trial trial({"mov.u64 %l0, 7;\n mul.wide.u32 %l1, %t, 8;\n add.u64 %l1, %l1, %a0;\n ld.global.u64 %l2, [%l1];\n"
               "add.u64 %l2, %l2, %l0;\n xor.b64 %l1, %l1, 8;\n bar.sync 0;\n st.global.u64 [%l1], %l2;\n"},
              16);
  trial.streams()[0].work.push_back({trial.launch(0), {}});
  trial.streams()[0].work.push_back({trial.launch(0), {}});
  const auto outcome = trial.run_seeds(50, [&] { ASSERT_EQ(trial.word(0, 3), 21u); });
  EXPECT_EQ(outcome.clean, 50) << outcome.summary();
}

}  // namespace
}  // namespace tutti::emulator
