// What crosses a machine's links, and what must at least.
#pragma once
#include "bench/sizes.hpp"
#include "kernels/timed.hpp"

namespace tutti::predict {

/// Bytes that went over the busiest link one way: a rank's port to a switch, the link of a pair if they are wired
/// directly, or what all ranks share.
double busiest_link(const timed::Machine& machine, const timed::World& world);

/// Seconds that any algorithm needs for the bytes that must leave, or reach, one rank (or cross what all share); 0 if
/// the machine's links have no rate, as those of CPUs.
double least_seconds(const timed::Machine& machine, const bench::Case& c);

}  // namespace tutti::predict
