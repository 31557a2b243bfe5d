// The threads that run the blocks of a call.
#include "collectives/crew.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <fstream>

namespace tutti {
namespace {

constexpr int kMost = 64;

/// Allows this process so many bytes of address space more than it has, for a scope.
class LittleRoom {
 public:
  explicit LittleRoom(rlim_t more) {
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    getrlimit(RLIMIT_AS, &before_);
    const rlimit little{pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + more, before_.rlim_max};
    setrlimit(RLIMIT_AS, &little);
  }
  LittleRoom(const LittleRoom&) = delete;
  ~LittleRoom() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

/// Each of the blocks runs, and none before all have begun.
void expect_blocks_at_once(Crew& crew, int blocks) {
  std::array<std::atomic<int>, kMost> runs{};
  std::atomic<int> begun = 0;
  crew.run(blocks, [&](int b) {
    ++runs[static_cast<std::size_t>(b)];
    ++begun;
    while (begun < blocks) std::this_thread::yield();
  });
  for (int b = 0; b < kMost; ++b) EXPECT_EQ(runs[static_cast<std::size_t>(b)], b < blocks ? 1 : 0) << "block " << b;
}

TEST(Crew, RunsAsManyBlocksAtOnceAsItHasThreads) {
  Crew crew(3);
  EXPECT_FALSE(crew.has_threads_for(4));
  for (int blocks : {3, 1, 2, 3}) {
    ASSERT_TRUE(crew.has_threads_for(blocks));
    expect_blocks_at_once(crew, blocks);
  }
}

TEST(Crew, MakesDoWithTheThreadsThatTheSystemGives) {
  Crew crew(kMost);
  {
    const LittleRoom room(std::size_t{24} << 20);  // a stack takes 2 or 8 MiB
    EXPECT_FALSE(crew.has_threads_for(kMost));
  }
  EXPECT_FALSE(crew.has_threads_for(kMost)) << "threads that come later would take an old call for a new one";
  ASSERT_TRUE(crew.has_threads_for(2));
  for (int call = 0; call < 3; ++call) expect_blocks_at_once(crew, 2);
}

}  // namespace
}  // namespace tutti
