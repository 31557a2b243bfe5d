// From times to the constants of formulas.
#pragma once
#include <span>

#include "bench/tune/timing.hpp"
#include "collectives/tuning.hpp"

namespace tutti::tune {

/// The formula of `of` whose relative errors at these times have the least squares; unknown if there are none. Times of
/// buffers that are not mapped do not count: ranks could not agree on a choice by them. A time above that of a call of
/// more bytes counts as that one: it was disturbed. `blocks`: of a call.
Formula fit(const Implementation& of, std::span<const Timing> timings, int blocks);

/// `tuning` with the formulas of all collectives that were timed. A receive takes what its send takes.
Tuning fitted(Tuning tuning, std::span<const Timing> timings, int blocks);

}  // namespace tutti::tune
