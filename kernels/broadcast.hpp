// Broadcast: the root gives, everyone takes.
//
// Plan: peer-mapped, each rank copies from the root's buffer and tells the root when it is done. Staged, the root fills
// slots of its outbox; each rank copies and credits them. (n-1) S bytes leave the root; one exchange and one step, or
// one step per slice. Only the root waits for the others, and the ranks for the root.
// Example, n = 3, root 1: rank 1 fills slot 0, signals 0 and 2; they copy it to `out` and credit rank 1.
#pragma once
#include "kernels/block.hpp"
#include "kernels/chunks.hpp"

namespace tutti {

template <Block B>
TUTTI_KERNEL void direct_broadcast(B& block, const Call& call) {
  const std::size_t width = call.element();
  const int me = block.rank(), root = call.peer, slots = block.geometry().slots;
  const Range band = band_of(block, call, call.count);
  const std::size_t slice_size = block.geometry().slot_bytes / width;
  Count rounds = slice_rounds(block, call, call.count, slice_size);
  const bool direct = block.enter(call, Reach::root_in) == Memory::peer_mapped;
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

}  // namespace tutti
