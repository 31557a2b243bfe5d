#include "kernels/fiber.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

namespace tutti {
namespace {

TEST(Fiber, GoesOnWhereItYielded) {
  std::vector<int> steps;
  Fiber fiber([&] {
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(Fiber::inside());
      steps.push_back(i);
      Fiber::yield();
    }
  });
  EXPECT_FALSE(Fiber::inside());
  for (int resumed = 0; !fiber.done(); ++resumed) {
    ASSERT_LT(resumed, 4);
    fiber.resume();
  }
  EXPECT_EQ(steps, (std::vector{0, 1, 2}));
}

TEST(Fiber, IsUnwoundWhenDestroyedUnfinished) {
  int destroyed = 0;
  struct Counts {
    int& n;
    ~Counts() { ++n; }
  };
  for (int round = 0; round < 300; ++round) {  // stacks are used again
    Fiber fiber([&] {
      const Counts counts{destroyed};
      char frame[20000];
      std::memset(frame, round, sizeof frame);
      for (;;) Fiber::yield();
    });
    fiber.resume();
    fiber.resume();
  }
  EXPECT_EQ(destroyed, 300);
}

TEST(Fiber, NeedNotEverRun) {
  bool ran = false;
  {
    Fiber fiber([&] { ran = true; });
  }
  EXPECT_FALSE(ran);
}

TEST(Fiber, HandsOnWhatItsBodyThrows) {
  Fiber fiber([] {
    Fiber::yield();
    throw std::runtime_error("out of a fiber");
  });
  fiber.resume();
  EXPECT_THROW(fiber.resume(), std::runtime_error);
  EXPECT_TRUE(fiber.done());
}

TEST(Fiber, MayBeResumedByAnotherThreadEachTime) {
  std::vector<int> sums(10);
  std::vector<std::unique_ptr<Fiber>> fibers;
  for (int& sum : sums) {
    fibers.push_back(std::make_unique<Fiber>([&sum] {
      for (int i = 0; i < 20; ++i) {
        try {
          if (i % 7 == 0) throw i;
          ++sum;
        } catch (int) {
          sum += 2;
        }
        Fiber::yield();
      }
    }));
  }
  for (int turn = 0; turn < 21; ++turn) {
    std::thread([&] {
      for (auto& fiber : fibers)
        if (!fiber->done()) fiber->resume();
    }).join();
  }
  for (std::size_t i = 0; i < fibers.size(); ++i) {
    EXPECT_TRUE(fibers[i]->done());
    EXPECT_EQ(sums[i], 23) << "fiber " << i;
  }
}

TEST(Fiber, MayResumeAnother) {
  std::vector<int> order;
  const std::size_t stack = std::size_t{64} << 10;
  Fiber inner(
      [&] {
        order.push_back(2);
        Fiber::yield();
        order.push_back(4);
      },
      stack, Switches::ordered);
  Fiber outer(
      [&] {
        order.push_back(1);
        inner.resume();
        order.push_back(3);
        Fiber::yield();
        order.push_back(5);
      },
      stack, Switches::ordered);
  outer.resume();
  EXPECT_FALSE(Fiber::inside());
  inner.resume();
  outer.resume();
  EXPECT_EQ(order, (std::vector{1, 2, 3, 4, 5}));
}

}  // namespace
}  // namespace tutti
