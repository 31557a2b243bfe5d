// The lecture's first program: collectives on [0, 1, 2, 3] + rank.
#pragma once
#include "bench/in_order.hpp"
#include "collectives/tutti.hpp"

namespace tutti::bench {

/// Runs broadcast, scatter, gather and reduce with root 1, all_reduce in place, reduce_scatter into an output of its
/// own and all_gather of that output on `size()` elements, and prints every rank's buffers before and after. True if
/// every result is right, and reduce_scatter and then all_gather gave the bits of all_reduce on every rank. Collective.
bool show_collectives(Session& session, InOrder& out);

}  // namespace tutti::bench
