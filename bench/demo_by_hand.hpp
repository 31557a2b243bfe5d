// Collectives beside the same written by hand: how many lines, how long.
#pragma once
#include "bench/in_order.hpp"
#include "collectives/tutti.hpp"

namespace tutti::bench {

/// Runs what by_hand.hpp has beside the collectives, and prints lines and times; "-" for them unless `timed`. True if
/// both ways give the same bits on every rank. Collective.
bool show_by_hand(Session& session, bool timed, InOrder& out);

}  // namespace tutti::bench
