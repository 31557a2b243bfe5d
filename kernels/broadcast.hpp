// Broadcast: the root gives, everyone takes.
//
// Plan, direct: peer-mapped, each rank copies from the root's buffer and tells the root when it is done. Shared, the
// root, which would only wait meanwhile, copies the last n-th of the data into each rank's buffer, and they the rest.
// Staged, the root fills slots of its outbox; each rank copies and credits them. (n-1) S bytes leave the root; one
// exchange and one step, or one step per slice. Only the root waits for the others, and the ranks for the root. Plan,
// ring: slices go from the root through the next rank's inbox, or into its `out`, to the rank before the root.
//   direct   2 steps, (n-1) S sent by the root
//   ring     1 + (n-1) steps, S sent by all but the last; the pipeline hides the steps of long messages
// Example, n = 3, root 1, direct, shared: ranks 0 and 2 read the first two thirds of rank 1's buffer, which writes the
// last third into theirs; each tells the other ends.
#pragma once
#include "kernels/block.hpp"
#include "kernels/chunks.hpp"
#include "kernels/cost.hpp"

namespace tutti {

/// Peer-mapped: what each rank reads, then what the root writes, so much that all copy alike; nothing if not `shared`.
template <Block B>
TUTTI_KERNEL void mapped_broadcast(B& block, const Call& call, bool shared) {
  const std::size_t width = call.element();
  const int n = block.size(), root = call.peer;
  const Range band = band_of(block, call, call.count);
  const std::size_t given = shared ? band.size() / static_cast<std::size_t>(n) / line_of(call) * line_of(call) : 0;
  const std::size_t taken = band.size() - given, at = (band.begin + taken) * width;
  if (block.rank() == root) {
    for (int i = 1; shared && i < n; ++i) {
      const int r = (root + i) % n;
      block.copy(one(block.out_of(r) + at), call.in + at, given * width);
      block.signal(data(r), 1);
    }
    block.wait(credit(kAll), 1);
    if (shared) block.advance_sent(data(kAll), 1);
    block.advance_received(credit(kAll), 1);
  } else {
    block.copy(one(call.out + band.begin * width), block.in_of(root) + band.begin * width, taken * width);
    block.signal(credit(root), 1);
    if (shared) block.wait(data(root), 1);
    if (shared) block.advance_received(data(root), 1);
    block.advance_sent(credit(root), 1);
  }
}

template <Block B>
TUTTI_KERNEL void staged_broadcast(B& block, const Call& call) {
  const std::size_t width = call.element();
  const int me = block.rank(), root = call.peer;
  const Range band = band_of(block, call, call.count);
  block.cut_slots(slot_for(block, call, call.count));
  const int slots = block.slots();
  const std::size_t slice_size = block.slot_bytes() / width;
  const Count rounds = slice_rounds(block, call, call.count, slice_size);
  for (Count round = 0; round < rounds; ++round) {
    const Range cut = piece(band.size(), slice_size, static_cast<std::size_t>(round));
    const std::size_t at = (band.begin + cut.begin) * width;
    if (me == root) {
      block.wait(credit(kAll), round + 1 - slots);
      block.copy(one(block.outbox(me, round)), call.in + at, cut.size() * width);
      block.signal(data(kAll), round + 1);
    } else {
      block.wait(data(root), round + 1);
      block.copy(one(call.out + at), block.outbox(root, round), cut.size() * width);
      block.signal(credit(root), round + 1);
    }
  }
  if (me == root) {
    block.advance_sent(data(kAll), rounds);
    block.advance_received(credit(kAll), rounds);
  } else {
    block.advance_received(data(root), rounds);
    block.advance_sent(credit(root), rounds);
  }
  block.advance_uses(Region::outbox, rounds);
}

template <Block B>
TUTTI_KERNEL void direct_broadcast(B& block, const Call& call) {
  const Memory memory = block.enter(call, Reach::root_in, Reach::root_in_out);
  if (memory == Memory::staged)
    staged_broadcast(block, call);
  else
    mapped_broadcast(block, call, memory == Memory::pulled);
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
