// The lock under which one thread at a time drives a session's kernels.
#pragma once
#include <sched.h>

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
    for (int tries = 0; !try_lock(); ++tries) {
      if (tries < kYields)
        sched_yield();
      else
        std::this_thread::sleep_for(kNap);
    }
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  static constexpr int kYields = 64;
  static constexpr std::chrono::microseconds kNap{50};
  std::atomic<bool> taken_ = false;
};

}  // namespace tutti
