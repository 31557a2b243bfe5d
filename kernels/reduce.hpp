// Reduce to a root.
//
// Plan, direct: peer-mapped, each rank reduces its chunk of everyone's input into the root's output, in rank order.
// Staged, each rank fills slots of its outbox; the root reduces everyone's into its output and credits them.
// Plan, ring: slices go from the rank after the root along the ring to the root, each rank adding its part.
//   direct   2 steps; the root receives 2 (n-1)/n S, staged (n-1) S
//   ring     1 + (n-1) steps, S sent by all but the root
// (Along a tree: tree.hpp.)
//
// Example, n = 3, root 0, direct and peer-mapped: rank 1 reads a1, b1, c1 and writes their sum to rank 0.
#pragma once
#include "kernels/broadcast.hpp"

namespace tutti {

template <Block B>
TUTTI_KERNEL void direct_reduce(B& block, const Call& call) {
  const std::size_t width = call.element();
  const int me = block.rank(), root = call.peer;
  if (block.enter(call, Reach::in_root_out) == Memory::peer_mapped) {
    const Range mine = Chunks(block, call, true, block.slot_bytes()).band(me);
    const std::size_t at = mine.begin * width;
    block.reduce(one(block.out_of(root) + at), block.all_in(at), mine.size(), call.reduction);
    block.leave();
    return;
  }
  block.cut_slots(slot_for(block, call, call.count));
  const int slots = block.slots();
  const Range band = band_of(block, call, call.count);
  const std::size_t slice_size = block.slot_bytes() / width;
  const Count rounds = slice_rounds(block, call, call.count, slice_size);
  for (Count round = 0; round < rounds; ++round) {
    const Range cut = piece(band.size(), slice_size, static_cast<std::size_t>(round));
    const std::size_t at = (band.begin + cut.begin) * width;
    if (me != root) {
      block.wait(credit(root), round + 1 - slots);
      block.copy(one(block.outbox(me, round)), call.in + at, cut.size() * width);
      block.signal(data(root), round + 1);
    } else {
      block.wait(data(kAll), round + 1);
      block.reduce(one(call.out + at), block.outboxes(round).with_own(me, call.in + at), cut.size(), call.reduction);
      block.signal(credit(kAll), round + 1);
    }
  }
  if (me == root) {
    block.advance_received(data(kAll), rounds);
    block.advance_sent(credit(kAll), rounds);
  } else {
    block.advance_sent(data(root), rounds);
    block.advance_received(credit(root), rounds);
  }
  block.advance_uses(Region::outbox, rounds);
}

template <Block B>
TUTTI_KERNEL void ring_reduce(B& block, const Call& call) {
  block.enter(call, Reach::nothing);
  const std::size_t width = call.element();
  const int me = block.rank(), next = block.next(), prev = block.prev(), root = call.peer;
  const int first = (root + 1) % block.size();
  const Range band = band_of(block, call, call.count);
  const std::size_t slice_size = block.slot_bytes() / width;
  const Count rounds = slice_rounds(block, call, call.count, slice_size);
  Reduction partial = call.reduction;
  partial.divisor = 1;
  for (Count k = 0; k < rounds; ++k) {
    const Range cut = piece(band.size(), slice_size, static_cast<std::size_t>(k));
    const std::size_t at = (band.begin + cut.begin) * width;
    if (me != root) block.wait(credit(next), k + 1 - block.slots());
    if (me == first) {
      block.copy(one(block.next_slot(k)), call.in + at, cut.size() * width);
    } else {
      block.wait(data(prev), k + 1);
      const View terms = two(block.my_slot(k), call.in + at);
      block.reduce(one(me == root ? call.out + at : block.next_slot(k)), terms, cut.size(),
                   me == root ? call.reduction : partial);
      block.signal(credit(prev), k + 1);
    }
    if (me != root) block.signal(data(next), k + 1);
  }
  advance_chain(block, first, root, rounds);
}

inline Cost direct_reduce_cost(int n, double bytes, bool mapped) {
  return {2, mapped ? 2 * (n - 1) * bytes / n : (n - 1) * bytes};
}
inline Cost ring_reduce_cost(int n, double bytes) { return {n, bytes}; }

}  // namespace tutti
