// Broadcast: the root gives, everyone takes.
//
// Plan, direct: peer-mapped, each rank copies from the root's buffer and tells the root when it is done. Staged, the
// root fills slots of its outbox; each rank copies and credits them. (n-1) S bytes leave the root; one exchange and one
// step, or one step per slice. Only the root waits for the others, and the ranks for the root. Plan, ring: slices go
// from the root through the next rank's inbox, or into its `out`, to the rank before the root.
//   direct   2 steps, (n-1) S sent by the root
//   ring     1 + (n-1) steps, S sent by all but the last; the pipeline hides the steps of long messages
// Example, n = 3, root 1, direct: rank 1 fills slot 0, signals 0 and 2; they copy it to `out` and credit rank 1.
#pragma once
#include "kernels/block.hpp"
#include "kernels/chunks.hpp"
#include "kernels/cost.hpp"

namespace tutti {

template <Block B>
TUTTI_KERNEL void direct_broadcast(B& block, const Call& call) {
  const std::size_t width = call.element();
  const int me = block.rank(), root = call.peer;
  const Range band = band_of(block, call, call.count);
  const bool direct = block.enter(call, Reach::root_in) == Memory::peer_mapped;
  if (!direct) block.cut_slots(slot_for(block, call, call.count));
  const int slots = block.slots();
  const std::size_t slice_size = block.slot_bytes() / width;
  Count rounds = slice_rounds(block, call, call.count, slice_size);
  if (direct) {
    rounds = 1;
    if (me == root) {
      block.wait(credit(kAll), 1);
    } else {
      block.copy(one(call.out + band.begin * width), block.in_of(root) + band.begin * width, band.size() * width);
      block.signal(credit(root), 1);
    }
  } else if (me == root) {
    for (Count round = 0; round < rounds; ++round) {
      const Range cut = piece(band.size(), slice_size, static_cast<std::size_t>(round));
      block.wait(credit(kAll), round + 1 - slots);
      block.copy(one(block.outbox(me, round)), call.in + (band.begin + cut.begin) * width, cut.size() * width);
      block.signal(data(kAll), round + 1);
    }
  } else {
    for (Count round = 0; round < rounds; ++round) {
      const Range cut = piece(band.size(), slice_size, static_cast<std::size_t>(round));
      block.wait(data(root), round + 1);
      block.copy(one(call.out + (band.begin + cut.begin) * width), block.outbox(root, round), cut.size() * width);
      block.signal(credit(root), round + 1);
    }
  }
  if (me == root) {
    if (!direct) block.advance_sent(data(kAll), rounds);
    block.advance_received(credit(kAll), rounds);
  } else {
    if (!direct) block.advance_received(data(root), rounds);
    block.advance_sent(credit(root), rounds);
  }
  if (!direct) block.advance_uses(Region::outbox, rounds);
}

/// Bases of a pipeline along the ring from `first` to `last`: k slots went from each rank to its next.
template <Block B>
TUTTI_KERNEL void advance_chain(B& block, int first, int last, Count k) {
  if (block.rank() != last) {
    block.advance_sent(data(block.next()), k);
    block.advance_received(credit(block.next()), k);
  }
  if (block.rank() != first) {
    block.advance_received(data(block.prev()), k);
    block.advance_sent(credit(block.prev()), k);
  }
}

template <Block B>
TUTTI_KERNEL void ring_broadcast(B& block, const Call& call) {
  const bool direct = block.enter(call, Reach::out) == Memory::peer_mapped;
  const std::size_t width = call.element();
  const int me = block.rank(), next = block.next(), prev = block.prev(), root = call.peer;
  const int last = root == 0 ? block.size() - 1 : root - 1;
  const Range band = band_of(block, call, call.count);
  const std::size_t slice_size = block.slot_bytes() / width;
  const Count rounds = slice_rounds(block, call, call.count, slice_size);
  for (Count k = 0; k < rounds; ++k) {
    const Range cut = piece(band.size(), slice_size, static_cast<std::size_t>(k));
    const std::size_t at = (band.begin + cut.begin) * width, bytes = cut.size() * width;
    if (me != root) block.wait(data(prev), k + 1);
    if (me != last) block.wait(credit(next), k + 1 - block.slots());
    char* const onward = direct ? block.out_of(next) + at : block.next_slot(k);
    if (me == root)
      block.copy(one(onward), call.in + at, bytes);
    else if (!direct)
      block.copy(present(call.out + at, me == last ? nullptr : onward), block.my_slot(k), bytes);
    else if (me != last)
      block.copy(one(onward), call.out + at, bytes);
    if (me != root) block.signal(credit(prev), k + 1);
    if (me != last) block.signal(data(next), k + 1);
  }
  advance_chain(block, root, last, rounds);
}

inline Cost direct_broadcast_cost(int n, double bytes) { return {2, (n - 1) * bytes}; }
inline Cost ring_broadcast_cost(int n, double bytes) { return {n, bytes}; }

}  // namespace tutti
