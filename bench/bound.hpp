// What a call costs at least, whoever makes it: from what it must move and the rates of this machine.
#pragma once
#include <cstddef>

#include "bench/sizes.hpp"

namespace tutti::bench {

/// Of cases up to this size without a root, calls follow one another within the measured time (on CPUs).
inline constexpr std::size_t kMeasuredTogether = 4096;
inline bool measured_together(const Case& c) { return c.bytes <= kMeasuredTogether && !c.rooted(); }

/// What no implementation gets around. docs/benchmarking.md derives it for each collective.
struct LeastWork {
  /// Bytes that each core must get from the caches of others, if all share the work evenly.
  std::size_t crossing = 0;
  /// What each rank must read and write in memory: the sum (or copy) of so many parts, written so many times; all
  /// ranks at once. No sources: nothing.
  int sources = 0, destinations = 0;
  std::size_t part = 0;  ///< bytes, whole elements
};
/// `cores`: that the ranks may use.
LeastWork least_work(const Case& c, int cores);

/// Seconds, measured in the same round.
struct Rates {
  double exchange = 0;   ///< x: two cores tell each other that they are there
  double hand_over = 0;  ///< h: of one core between two ranks; 0 if each has its own
  double crossing = 0;   ///< to get LeastWork::crossing bytes, the first line's way among it
  double local = 0;      ///< of the sum or copy
};

/// Seconds per call, as Case::time_scale has them.
double bound(const Case& c, int cores, const Rates& rates);

}  // namespace tutti::bench
