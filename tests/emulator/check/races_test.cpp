#include "tests/emulator/check/races.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <random>
#include <vector>

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

/// Every access there was, and what its thread knew then: what the detector may forget parts of.
struct Kept {
  ThreadId thread;
  Time time;
  std::uint8_t mask;
  unsigned bits;
};

TEST_F(RacesTest, WhatIsForgottenChangesNoVerdict) {
  constexpr unsigned kKinds[] = {0,
                                 kWrite,
                                 kStrong,
                                 kStrong | kGpuScope,
                                 kStrong | kSysScope,
                                 kWrite | kStrong,
                                 kWrite | kStrong | kGpuScope,
                                 kWrite | kStrong | kSysScope};
  constexpr std::uint8_t kMasks[] = {0xff, 0x0f, 0xf0, 0x01, 0x80, 0x3c};
  std::mt19937 random(1);
  const auto below = [&](std::size_t bound) { return random() % bound; };
  int racy = 0;
  std::size_t longest = 0;
  for (int sequence = 0; sequence < 20000; ++sequence) {
    known_ = {};
    time_.fill(1);
    granule_ = {};
    detector_.begin_run(placements_);
    std::vector<Kept> all;
    // Few kinds and bytes each time, so that much depends on each record.
    const std::size_t threads = 2 + below(7), often = 2 + below(6);
    std::vector<unsigned> kinds(2 + below(3));
    for (unsigned& kind : kinds) kind = kKinds[below(std::size(kKinds))];
    std::vector<std::uint8_t> masks(1 + below(2));
    for (std::uint8_t& mask : masks) mask = kMasks[below(std::size(kMasks))];
    for (int step = 0; step < 200; ++step) {
      const auto thread = static_cast<ThreadId>(below(threads));
      if (below(often) == 0) {
        const auto other = static_cast<ThreadId>(below(threads));
        if (other != thread) order(thread, other);
        continue;
      }
      const Kept now{thread, time_[thread], masks[below(masks.size())], kinds[below(kinds.size())]};
      const bool races = std::any_of(all.begin(), all.end(), [&](const Kept& old) {
        if ((old.mask & now.mask) == 0 || ((old.bits | now.bits) & kWrite) == 0) return false;
        if (old.thread == thread || known_[thread].of(old.thread) >= old.time) return false;
        if ((old.bits & now.bits & kStrong) == 0 || old.mask != now.mask) return true;
        const Placement &a = placements_[old.thread], &b = placements_[thread];
        return !includes(static_cast<std::uint8_t>(old.bits), a, b) ||
               !includes(static_cast<std::uint8_t>(now.bits), b, a);
      });
      if (races && below(8) != 0) continue;  // else sequences would be short
      ASSERT_EQ(access(thread, now.mask, now.bits).has_value(), races) << "sequence " << sequence << " step " << step;
      if (races) {
        ++racy;
        break;
      }
      all.push_back(now);
      longest = std::max(longest, all.size());
    }
  }
  EXPECT_GT(racy, 5000);
  EXPECT_GT(longest, 100u);
}

}  // namespace
}  // namespace tutti::emulator
