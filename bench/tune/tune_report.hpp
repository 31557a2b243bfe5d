// What tune tells.
#pragma once
#include <span>
#include <string>

#include "bench/tune/judge.hpp"

namespace tutti::tune {

/// A table for each collective and number of ranks, then the worst ratios. `timed`: "measured" or "predicted".
std::string choices_text(std::span<const Judged> judged, const char* timed);

/// How far formulas are from the times that they were fitted to: the median and the most, by algorithm.
std::string errors_text(std::span<const Timing> timings, const Tuning& tuning, bool on_gpu);

}  // namespace tutti::tune
