// Bruck's all-gather: what a rank has doubles at each step.
//
// Plan: before the step with distance d = 1, 2, 4, ... a rank has the chunks of the d ranks from itself on; it sends
// them to the rank d behind, as many as that one lacks, and takes as many from the rank d ahead.
//   1 + ceil(log2 n) steps, (n-1) S sent and received per rank (S: one chunk)
// A message is one slot, cut into a place for each of its chunks' slices; long chunks go in rounds of slices.
// Peer-mapped, chunks go straight to where they belong in the receiver's `out`.
//
// Source: Bruck, Ho, Kipnis, Upfal and Weathersby, "Efficient algorithms for all-to-all communications in multiport
// message-passing systems", IEEE TPDS 8 (1997).
// Example, n = 3, rank 0: sends a to 2, takes b from 1; sends a to 1 (it lacks only one), takes c from 2.
#pragma once
#include "kernels/block.hpp"
#include "kernels/chunks.hpp"
#include "kernels/cost.hpp"

namespace tutti {

template <Block B>
TUTTI_KERNEL void bruck_all_gather(B& block, const Call& call) {
  const bool direct = block.enter(call, Reach::out) == Memory::peer_mapped;
  const std::size_t width = call.element();
  const int n = block.size(), me = block.rank(), slots = block.slots(), lanes = ceil_log2(n);
  const std::size_t place = block.lane_bytes(lanes) / ceil_div(static_cast<std::size_t>(n), 2) / kLine * kLine;
  const Chunks chunks(block, call, false, place);

  for (Count round = 0; round < chunks.rounds(); ++round) {
    const auto slice_of = [&](int chunks_on) { return chunks.slice((me + chunks_on) % n, round); };
    const Range own = slice_of(0);
    const char* const mine = call.in + (own.begin - chunks.chunk_of(me).begin) * width;
    block.copy(one(call.out + own.begin * width), mine, own.size() * width);
    for (int step = 0; step < lanes; ++step) {
      const int away = 1 << step, to = (me - away + n) % n, from = (me + away) % n;
      const int many = away < n - away ? away : n - away;
      const Lane lane{step, lanes};
      block.wait(credit(to), round + 1 - slots);
      for (int i = 0; i < many; ++i) {
        const Range slice = slice_of(i);
        const std::size_t at = slice.begin * width;
        block.copy(
            one(direct ? block.out_of(to) + at : block.lane_to(to, lane, round) + static_cast<std::size_t>(i) * place),
            i == 0 ? mine : call.out + at, slice.size() * width);
      }
      block.signal(data(to), round + 1);
      block.wait(data(from), round + 1);
      for (int i = 0; i < many && !direct; ++i) {
        const Range slice = slice_of(away + i);
        block.copy(one(call.out + slice.begin * width),
                   block.lane_from(from, lane, round) + static_cast<std::size_t>(i) * place, slice.size() * width);
      }
      block.signal(credit(from), round + 1);
    }
  }
  for (int away = 1; away < n; away *= 2) {
    const int to = (me - away + n) % n, from = (me + away) % n;
    block.advance_sent(data(to), chunks.rounds());
    block.advance_received(credit(to), chunks.rounds());
    block.advance_received(data(from), chunks.rounds());
    block.advance_sent(credit(from), chunks.rounds());
  }
}

inline Cost bruck_all_gather_cost(int n, double bytes) { return {1 + ceil_log2(n), (n - 1) * bytes}; }

}  // namespace tutti
