#include "tests/emulator/check/clocks.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace tutti::emulator {
namespace {

TEST(Clocks, LearnOnlyForward) {
  VectorClockPool pool;
  pool.resize(3);
  VectorClock clock;
  EXPECT_EQ(clock.of(1), 0u);
  pool.learn(clock, 1, 5);
  pool.learn(clock, 1, 3);
  EXPECT_EQ(clock.of(0), 0u);
  EXPECT_EQ(clock.of(1), 5u);
}

TEST(Clocks, ThatAreSharedAreCopiedWhenOneLearns) {
  VectorClockPool pool;
  pool.resize(3);
  VectorClock first;
  pool.learn(first, 0, 1);
  VectorClock second = first;
  EXPECT_TRUE(first == second);
  pool.learn(second, 2, 9);
  EXPECT_EQ(first.of(2), 0u);
  EXPECT_EQ(second.of(2), 9u);
  EXPECT_EQ(second.of(0), 1u);
}

TEST(Clocks, JoinToTheLatestOfEachThread) {
  VectorClockPool pool;
  pool.resize(3);
  VectorClock a, b;
  pool.learn(a, 0, 4);
  pool.learn(a, 1, 1);
  pool.learn(b, 1, 7);
  const VectorClock kept = a;
  pool.join(a, b);
  EXPECT_EQ(a.of(0), 4u);
  EXPECT_EQ(a.of(1), 7u);
  EXPECT_EQ(kept.of(1), 1u);
}

TEST(Clocks, OfAnotherRunMustBeGoneBeforeTheNext) {
  VectorClockPool pool;
  pool.resize(3);
  {
    VectorClock clock;
    pool.learn(clock, 0, 1);
    EXPECT_THROW(pool.resize(3), std::logic_error);
  }
  pool.resize(200);
  VectorClock clock;
  pool.learn(clock, 199, 1);
  EXPECT_EQ(clock.of(198), 0u);
}

}  // namespace
}  // namespace tutti::emulator
