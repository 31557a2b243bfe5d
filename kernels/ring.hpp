// Ring all-reduce, reduce-scatter and all-gather.
//
// Plan: ranks form a ring; each sends to `next` and hears from `prev`. Chunk c starts at the rank after c's last adder
// and travels once round, each rank adding its part; all-reduce sends the finished chunk round once more.
//   all-reduce      1 + 2(n-1) steps, 2(n-1)/n S bytes sent per rank     at step s rank r sends chunk r-s
//   reduce-scatter  1 + (n-1) steps,  (n-1) S (S: one chunk)             at step s rank r sends chunk r-s-1
//   all-gather      1 + (n-1) steps,  (n-1) S (S: one chunk)             at step s rank r sends chunk r-s
// Long chunks go in rounds of slices through the next rank's inbox; peer-mapped, finished chunks go straight to its
// `out`. A chunk's sum forms along the ring, once, and is then copied: same bits on all ranks.
//
// Source: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69 (2009).
// Example: n = 3, rank 0 of all-reduce. Sends c0 | adds to c2, sends it | adds to c1, complete now, keeps and sends it
// | keeps c0 and sends it on | keeps c2.
#pragma once
#include "kernels/block.hpp"
#include "kernels/chunks.hpp"
#include "kernels/cost.hpp"

namespace tutti {

/// The chunk `steps` places behind `rank` on a ring of n.
TUTTI_HD int behind(int rank, int steps, int n) { return ((rank - steps) % n + n) % n; }

/// Bases of a ring call: every rank filled k slots of the next one and was credited for each.
template <Block B>
TUTTI_KERNEL void advance_ring(B& block, Count k) {
  block.advance_sent(data(block.next()), k);
  block.advance_received(data(block.prev()), k);
  block.advance_sent(credit(block.prev()), k);
  block.advance_received(credit(block.next()), k);
}

template <Block B>
TUTTI_KERNEL void ring_all_reduce(B& block, const Call& call) {
  const bool direct = block.enter(call, Reach::out) == Memory::peer_mapped;
  const int n = block.size(), next = block.next(), prev = block.prev(), slots = block.slots();
  const Chunks chunks(block, call, true, block.slot_bytes());
  const std::size_t width = call.element();
  Reduction partial = call.reduction;
  partial.divisor = 1;

  Count k = 0;  // of this call's messages to next; the k-th from prev is answered by the next one
  for (Count round = 0; round < chunks.rounds(); ++round) {
    for (int step = 0; step < 2 * (n - 1); ++step, ++k) {
      const Range slice = chunks.slice(behind(block.rank(), step, n), round);
      const std::size_t at = slice.begin * width, bytes = slice.size() * width;
      block.wait(credit(next), k + 1 - slots);
      if (step == 0) {
        block.copy(one(block.next_slot(k)), call.in + at, bytes);
      } else {
        block.wait(data(prev), k);
        char* const onward = direct && step >= n - 1 ? block.out_of(next) + at : block.next_slot(k);
        if (step < n - 1)
          block.reduce(one(onward), two(block.my_slot(k - 1), call.in + at), slice.size(), partial);
        else if (step == n - 1)
          block.reduce(two(call.out + at, onward), two(block.my_slot(k - 1), call.in + at), slice.size(),
                       call.reduction);
        else if (direct)
          block.copy(one(onward), call.out + at, bytes);
        else
          block.copy(two(call.out + at, onward), block.my_slot(k - 1), bytes);
        block.signal(credit(prev), k);
      }
      block.signal(data(next), k + 1);
    }
    block.wait(data(prev), k);
    const Range last = chunks.slice(behind(block.rank(), 2 * (n - 1), n), round);
    if (!direct) block.copy(one(call.out + last.begin * width), block.my_slot(k - 1), last.size() * width);
    block.signal(credit(prev), k);
  }
  advance_ring(block, k);
}

template <Block B>
TUTTI_KERNEL void ring_reduce_scatter(B& block, const Call& call) {
  block.enter(call, Reach::nothing);
  const int n = block.size(), next = block.next(), prev = block.prev(), slots = block.slots();
  const Chunks chunks(block, call, false, block.slot_bytes());
  const std::size_t width = call.element();
  Reduction partial = call.reduction;
  partial.divisor = 1;

  Count k = 0;
  for (Count round = 0; round < chunks.rounds(); ++round) {
    for (int step = 0; step < n - 1; ++step, ++k) {
      const Range slice = chunks.slice(behind(block.rank(), step + 1, n), round);
      const char* const mine = call.in + slice.begin * width;
      block.wait(credit(next), k + 1 - slots);
      if (step == 0) {
        block.copy(one(block.next_slot(k)), mine, slice.size() * width);
      } else {
        block.wait(data(prev), k);
        block.reduce(one(block.next_slot(k)), two(block.my_slot(k - 1), mine), slice.size(), partial);
        block.signal(credit(prev), k);
      }
      block.signal(data(next), k + 1);
    }
    block.wait(data(prev), k);
    const Range own = chunks.slice(block.rank(), round);
    const std::size_t at = (own.begin - chunks.chunk_of(block.rank()).begin) * width;
    block.reduce(one(call.out + at), two(block.my_slot(k - 1), call.in + own.begin * width), own.size(),
                 call.reduction);
    block.signal(credit(prev), k);
  }
  advance_ring(block, k);
}

template <Block B>
TUTTI_KERNEL void ring_all_gather(B& block, const Call& call) {
  const bool direct = block.enter(call, Reach::out) == Memory::peer_mapped;
  const int n = block.size(), next = block.next(), prev = block.prev(), slots = block.slots();
  const Chunks chunks(block, call, false, block.slot_bytes());
  const std::size_t width = call.element();

  Count k = 0;
  for (Count round = 0; round < chunks.rounds(); ++round) {
    for (int step = 0; step < n - 1; ++step, ++k) {
      const Range slice = chunks.slice(behind(block.rank(), step, n), round);
      const std::size_t at = slice.begin * width, bytes = slice.size() * width;
      block.wait(credit(next), k + 1 - slots);
      if (step > 0) block.wait(data(prev), k);
      char* const onward = direct ? block.out_of(next) + at : block.next_slot(k);
      if (step == 0)
        block.copy(two(call.out + at, onward), call.in + (slice.begin - chunks.chunk_of(block.rank()).begin) * width,
                   bytes);
      else if (direct)
        block.copy(one(onward), call.out + at, bytes);
      else
        block.copy(two(call.out + at, onward), block.my_slot(k - 1), bytes);
      if (step > 0) block.signal(credit(prev), k);
      block.signal(data(next), k + 1);
    }
    block.wait(data(prev), k);
    const Range last = chunks.slice(behind(block.rank(), n - 1, n), round);
    if (!direct) block.copy(one(call.out + last.begin * width), block.my_slot(k - 1), last.size() * width);
    block.signal(credit(prev), k);
  }
  advance_ring(block, k);
}

inline Cost ring_all_reduce_cost(int n, double bytes) { return {1 + 2 * (n - 1), 2 * (n - 1) * bytes / n}; }
/// Reduce-scatter or all-gather; `bytes` of one chunk.
inline Cost ring_half_cost(int n, double bytes) { return {n, (n - 1) * bytes}; }

}  // namespace tutti
