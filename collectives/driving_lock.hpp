// The lock under which one thread at a time drives a session's kernels.
#pragma once
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace tutti {

/// One locked instruction for lock and unlock together, where a mutex needs two: 6 ns of a barrier's 200. Drivers hold
/// it for as long as their calls take, so whoever comes second soon sleeps.
class DrivingLock {
 public:
  bool try_lock() {
    return !taken_.load(std::memory_order_relaxed) && !taken_.exchange(true, std::memory_order_acquire);
  }
  void lock() {
    auto nap = kShortest;
    for (int tries = 0; !try_lock(); ++tries) {
      if (tries < kYields) {
        sched_yield();
        continue;
      }
      // Longer each time: a worker that comes back while its rank calls on and on would not get the lock for long, and
      // take the core away at every try (4 ranks on 2 cores: calls then took 2 to 3 times as long).
      std::this_thread::sleep_for(nap);
      nap = std::min(kLongest, nap * 2);
    }
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  static constexpr int kYields = 64;
  static constexpr std::chrono::microseconds kShortest{50}, kLongest{800};
  std::atomic<bool> taken_ = false;
};

}  // namespace tutti
