#include "tests/emulator/check/races.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>

namespace tutti::emulator {
namespace {

/// Eight threads, two a block, two blocks a device; nobody knows of anybody until told.
class RacesTest : public testing::Test {
 protected:
  RacesTest() {
    pool_.resize(8);
    for (std::uint32_t t = 0; t < 8; ++t) placements_[t] = {t / 2, static_cast<int>(t / 4), 1, true};
    detector_.begin_run(placements_);
    time_.fill(1);
  }

  /// Who the access races with, if anybody.
  std::optional<ThreadId> access(ThreadId thread, std::uint8_t mask, unsigned bits) {
    const Access access{thread, time_[thread], 1, 0, static_cast<std::uint8_t>(bits), &known_[thread], &before_launch_};
    const Record* const other = detector_.access(granule_, mask, access);
    return other ? std::optional<ThreadId>(other->thread) : std::nullopt;
  }
  /// What `from` has done happens before what `to` does next.
  void order(ThreadId from, ThreadId to) {
    pool_.learn(known_[to], from, time_[from]++);
    pool_.join(known_[to], known_[from]);
  }

  static constexpr std::optional<ThreadId> kNone = std::nullopt;
  VectorClockPool pool_;
  std::array<VectorClock, 8> known_;
  VectorClock before_launch_;
  std::array<Time, 8> time_{};
  std::array<Placement, 8> placements_{};
  Granule granule_{};
  RaceDetector detector_;
};

TEST_F(RacesTest, WeakAccessesOfTheSameByteRaceIfOneWrites) {
  EXPECT_EQ(access(0, 0x0f, 0), kNone);
  EXPECT_EQ(access(1, 0x0f, 0), kNone);
  EXPECT_EQ(access(2, 0x08, kWrite), 0u);
}

TEST_F(RacesTest, BytesAreToldApart) {
  for (std::uint32_t t = 0; t < 8; ++t) EXPECT_EQ(access(t, static_cast<std::uint8_t>(1u << t), kWrite), kNone);
  EXPECT_EQ(access(0, 0x80, 0), 7u);
  EXPECT_EQ(access(0, 0x02, kWrite), 1u);
}

TEST_F(RacesTest, OrderedAccessesDoNotRace) {
  EXPECT_EQ(access(0, 0xff, kWrite), kNone);
  order(0, 5);
  EXPECT_EQ(access(5, 0xff, kWrite), kNone);
  EXPECT_EQ(access(0, 0xff, 0), 5u);
}

TEST_F(RacesTest, OrderIsTransitive) {
  EXPECT_EQ(access(0, 0xff, kWrite), kNone);
  order(0, 3);
  order(3, 6);
  EXPECT_EQ(access(6, 0xff, 0), kNone);
}

TEST_F(RacesTest, EveryReaderCountsForAWrite) {
  for (std::uint32_t t = 0; t < 8; ++t) EXPECT_EQ(access(t, 0xff, 0), kNone);
  for (std::uint32_t t = 1; t < 7; ++t) order(t, 0);
  EXPECT_EQ(access(0, 0xff, kWrite), 7u);
  order(7, 0);
  EXPECT_EQ(access(0, 0xff, kWrite), kNone);
}

TEST_F(RacesTest, ReadersAreForgottenOnlyForReadsThatComeAfterThem) {
  // Many reads by thread 1 make the list be tidied; thread 0's stays, for nothing orders it before them.
  EXPECT_EQ(access(0, 0xff, 0), kNone);
  for (int k = 0; k < 100; ++k) {
    EXPECT_EQ(access(1, 0xff, 0), kNone);
    EXPECT_EQ(access(2, static_cast<std::uint8_t>(1u << (k % 8)), 0), kNone);
    order(1, 2);
    order(2, 1);
  }
  order(1, 7);
  order(2, 7);
  EXPECT_EQ(access(7, 0xff, kWrite), 0u);
}

TEST_F(RacesTest, StrongAccessesRaceOnlyIfAScopeLeavesTheOtherOut) {
  EXPECT_EQ(access(0, 0xff, kWrite | kStrong | kSysScope), kNone);
  EXPECT_EQ(access(4, 0xff, kWrite | kStrong | kSysScope), kNone);
  EXPECT_EQ(access(2, 0xff, kStrong | kGpuScope), 4u);
}

TEST_F(RacesTest, ScopesOfGpuAndBlockReachThatFar) {
  EXPECT_EQ(access(0, 0xff, kWrite | kStrong | kGpuScope), kNone);
  EXPECT_EQ(access(2, 0xff, kStrong | kGpuScope), kNone);
  EXPECT_EQ(access(1, 0xff, kStrong), kNone);
  EXPECT_EQ(access(3, 0xff, kStrong), 0u);
}

TEST_F(RacesTest, AStrongWriteDoesNotHideAWeakOneBeforeIt) {
  EXPECT_EQ(access(0, 0xff, kWrite), kNone);
  order(0, 2);
  EXPECT_EQ(access(2, 0xff, kWrite | kStrong | kSysScope), kNone);
  EXPECT_EQ(access(4, 0xff, kStrong | kSysScope), 0u);
}

TEST_F(RacesTest, WeakAccessesRaceWithStrongOnes) {
  EXPECT_EQ(access(0, 0xff, kWrite | kStrong | kSysScope), kNone);
  EXPECT_EQ(access(4, 0x01, 0), 0u);
  EXPECT_EQ(access(0, 0xff, kStrong | kSysScope), kNone);
  order(0, 4);
  EXPECT_EQ(access(4, 0x01, kWrite), kNone);
}

TEST_F(RacesTest, StrongAccessesOfOtherBytesRace) {
  EXPECT_EQ(access(0, 0xff, kWrite | kStrong | kSysScope), kNone);
  EXPECT_EQ(access(4, 0x0f, kStrong | kSysScope), 0u);
}

TEST_F(RacesTest, ManyStrongWritersAreAllRemembered) {
  for (std::uint32_t t = 0; t < 8; ++t) EXPECT_EQ(access(t, 0xff, kWrite | kStrong | kSysScope), kNone);
  for (std::uint32_t t = 1; t < 8; ++t)
    if (t != 3) order(t, 0);
  EXPECT_EQ(access(0, 0xff, 0), 3u);
}

TEST_F(RacesTest, ANonCoherentReadConflictsWithOrderedWritesOfItsLaunch) {
  EXPECT_EQ(access(0, 0xff, kNonCoherent), kNone);
  order(0, 1);
  EXPECT_EQ(access(1, 0xff, kWrite), 0u);
  placements_[0].live = false;
  EXPECT_EQ(access(1, 0xff, kWrite), kNone);
  order(1, 0);
  EXPECT_EQ(access(0, 0xff, kNonCoherent), 1u);
  pool_.learn(before_launch_, 1, time_[1]);
  EXPECT_EQ(access(0, 0xff, kNonCoherent), kNone);
}

}  // namespace
}  // namespace tutti::emulator
