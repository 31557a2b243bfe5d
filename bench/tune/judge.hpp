// How good choices are, by what was timed.
#pragma once
#include <span>
#include <vector>

#include "bench/tune/timing.hpp"

namespace tutti::tune {

/// The geometry by which communicators of so many ranks choose.
Geometry choosing_geometry(bool on_gpu, int ranks);

/// One call, on one kind of memory, in one placement of the cores.
struct Judged {
  Timing chosen, fastest;
  double expected = 0;  ///< seconds that the chosen one takes by its formula
  double ratio() const { return chosen.seconds / fastest.seconds; }
};

/// Of every call that was timed by more than one algorithm, in the order of `timings`.
std::vector<Judged> judge(std::span<const Timing> timings, const Tuning& tuning, bool on_gpu);

}  // namespace tutti::tune
