// Near or far: which stores pay depends on whether the ranks' cores share a cache.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

namespace tutti {

/// Intel's cores share one mesh, however far a line has to go on it; AMD's share caches in groups.
inline bool on_one_mesh() {
#if defined(__x86_64__)
  return __builtin_cpu_is("intel");
#else
  return false;
#endif
}

/// Estimates how long a line takes from another rank's core, from looks at arrivals that were there already.
///
/// On one virtual machine a look took 40 to 60 ns while the two cores shared a cache (near) and 150 to 180 ns while
/// they did not (far), and it changed between the two by itself. Far, a store to a line that the other core has cached
/// costs several times a streaming store; near it is the other way round. On a mesh a look takes 90 to 150 ns, and
/// streaming does not pay (Sapphire Rapids: 128 KiB to the other core take 17 to 21 us through the cache, 26 to 29 past
/// it; 8 MiB about 1.85 ms either way), so there far is another socket.
class Nearness {
 public:
  /// A look at a line that a peer has written, in nanoseconds, the clock's own time included. Blocks of calls that run
  /// beside each other may sample at once.
  void sample(std::uint64_t ns) {
    if (ns < kOwnCache || ns > kInterrupted) return;
    const std::size_t before = taken_.fetch_add(1, std::memory_order_relaxed);
    recent_[before % kWindow].store(ns, std::memory_order_relaxed);
    if (before + 1 < kWindow) return;
    std::array<std::uint64_t, kWindow> sorted;
    for (std::size_t i = 0; i < kWindow; ++i) sorted[i] = recent_[i].load(std::memory_order_relaxed);
    std::nth_element(sorted.begin(), sorted.begin() + kWindow / 2, sorted.end());
    typical_ns_.store(sorted[kWindow / 2], std::memory_order_relaxed);
  }
  /// The median of the last samples; 0 while there are too few.
  std::uint64_t typical_ns() const { return typical_ns_.load(std::memory_order_relaxed); }
  static bool far(std::uint64_t ns) { return ns > far_from(); }

 private:
  static constexpr std::size_t kWindow = 16;
  static constexpr std::uint64_t kOwnCache = 35;       ///< less: written on this core, which says nothing
  static constexpr std::uint64_t kInterrupted = 1000;  ///< more: something else ran meanwhile
  static std::uint64_t far_from() { return on_one_mesh() ? 300 : 110; }
  std::array<std::atomic<std::uint64_t>, kWindow> recent_{};
  std::atomic<std::size_t> taken_ = 0;
  std::atomic<std::uint64_t> typical_ns_ = 0;
};

}  // namespace tutti
