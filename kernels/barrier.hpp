// Barrier.
//
// Plan, direct: entering is an exchange between all, so it is one; 1 step.
// Plan, dissemination: at step k a rank tells the one 2^k ahead and hears from the one 2^k behind; after ceil(log2 n)
// steps it has heard, through others, from all. No `enter`.
//
// Source: Hensgen, Finkel and Manber, "Two algorithms for barrier synchronization", IJPP 17 (1988).
// Example, n = 3: rank 0 tells 1, hears from 2; then tells 2, hears from 1.
#pragma once
#include "kernels/block.hpp"
#include "kernels/cost.hpp"

namespace tutti {

template <Block B>
TUTTI_KERNEL void barrier(B& block, const Call& call) {
  block.enter(call, Reach::nothing);
}

template <Block B>
TUTTI_KERNEL void dissemination_barrier(B& block, const Call&) {
  const int n = block.size(), me = block.rank();
  for (int away = 1; away < n; away *= 2) {
    const int to = (me + away) % n, from = (me - away + n) % n;
    block.signal(data(to), 1);
    block.wait(data(from), 1);
    block.advance_sent(data(to), 1);
    block.advance_received(data(from), 1);
  }
}

inline Cost barrier_cost(int) { return {1, 0}; }
inline Cost dissemination_barrier_cost(int n) { return {ceil_log2(n), 0}; }

}  // namespace tutti
