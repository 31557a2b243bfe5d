// What a rank of a just started job says of itself: when it came to its first sum, and what memory it holds.
#pragma once

namespace tutti::bench::startup {

/// Prints one line for startup.py: `rank`, nanoseconds of CLOCK_MONOTONIC at `began` and `reduced`, and from
/// /proc/self/smaps_rollup the kB that are this process's alone (private clean + private dirty), its proportional share
/// of all it touched, and the locked ones; last the kB of the host's shared memory. To be called while all ranks live.
void report(int rank, long long began, long long reduced);

/// Nanoseconds of CLOCK_MONOTONIC, the same clock in all processes of a host.
long long now();

}  // namespace tutti::bench::startup
