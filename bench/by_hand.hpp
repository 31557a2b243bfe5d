// What collectives spare: the same results, written by hand with send and recv.
#pragma once
#include <cstddef>

#include "collectives/tutti.hpp"

namespace tutti::bench {

// Each is called by every rank, with f32 in memory of `comm`; those that add need the CPU's. Each is followed by the
// lines of its body, without blank ones and comments (a test counts them).

/// Every rank's `data` becomes root's.
void broadcast_by_hand(Communicator& comm, float* data, std::size_t count, int root);
inline constexpr int kBroadcastLines = 7;

/// out = the sum of every rank's `in`, on root; `theirs` is room for `count` elements there.
void reduce_by_hand(Communicator& comm, const float* in, float* out, float* theirs, std::size_t count, int root);
inline constexpr int kReduceLines = 10;

/// out = every rank's `in`, in rank order.
void all_gather_by_hand(Communicator& comm, const float* in, float* out, std::size_t count);
inline constexpr int kAllGatherLines = 9;

/// data = the sum of every rank's `data`, around a ring: n-1 steps to add, n-1 to pass the sums on. `theirs` is room
/// for count / n + 1 elements.
void all_reduce_by_hand(Communicator& comm, float* data, float* theirs, std::size_t count);
inline constexpr int kAllReduceLines = 18;

}  // namespace tutti::bench
