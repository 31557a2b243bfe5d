// Send and receive between two ranks.
//
// Plan: the sender writes a header (what, how much, where its buffer is mapped) into the first slot. A mapped buffer
// that does not fit one slot is pulled by the receiver, whose credit ends the send. Otherwise the data goes through
// slots: the sender may end before the receiver starts. 1 step or one per slice; S bytes (staged: copied twice).
// Messages of one pair and direction keep their order; they share nothing with collectives.
// Example: send(100 bytes) = header and data in slot 0, one signal. recv = wait, compare, copy, credit.
#pragma once
#include "kernels/block.hpp"
#include "kernels/chunks.hpp"
#include "kernels/cost.hpp"

namespace tutti {

/// Slices of a staged message; at least one, for the header.
TUTTI_HD Count message_slices(const Connections& block, const Call& call) {
  const Count slices = slice_rounds(block, call, call.count, block.geometry().p2p_slot_bytes / call.element());
  return slices ? slices : 1;
}

template <Block B>
TUTTI_KERNEL void send(B& block, const Call& call) {
  const int to = call.peer, slots = block.geometry().p2p_slots;
  const Range band = band_of(block, call, call.count);
  const char* const in = call.in + band.begin * call.element();
  const std::size_t bytes = band.size() * call.element(), slot_bytes = block.geometry().p2p_slot_bytes;
  Count slices = message_slices(block, call);
  const bool pulled = call.in_place.mapped() && slices > 1;
  if (pulled) slices = 1;
  for (Count k = 0; k < slices; ++k) {
    const Range cut = piece(bytes, slot_bytes, static_cast<std::size_t>(k));
    Entry* const slot = block.slot_at(to, k);
    block.wait(p2p_credit(to), k + 1 - slots);
    if (k == 0) block.offer(slot, call, pulled);
    if (!pulled) block.copy(one(slot + 1), in + cut.begin, cut.size());
    block.signal(p2p_data(to), k + 1);
  }
  if (pulled) block.wait(p2p_credit(to), 1);
  block.advance_sent(p2p_data(to), slices);
  block.advance_received(p2p_credit(to), slices);
}

template <Block B>
TUTTI_KERNEL void recv(B& block, const Call& call) {
  const int from = call.peer;
  const Range band = band_of(block, call, call.count);
  char* const out = call.out + band.begin * call.element();
  const std::size_t bytes = band.size() * call.element(), slot_bytes = block.geometry().p2p_slot_bytes;
  Count slices = message_slices(block, call);
  block.wait(p2p_data(from), 1);
  const Offer offer = block.accept(block.slot_from(from, 0), call);
  if (offer.memory == Memory::peer_mapped) {
    slices = 1;
    block.copy(one(out), offer.source + band.begin * call.element(), bytes);
    block.signal(p2p_credit(from), 1);
  } else {
    for (Count k = 0; k < slices; ++k) {
      const Range cut = piece(bytes, slot_bytes, static_cast<std::size_t>(k));
      block.wait(p2p_data(from), k + 1);
      block.copy(one(out + cut.begin), reinterpret_cast<const char*>(block.slot_from(from, k) + 1), cut.size());
      block.signal(p2p_credit(from), k + 1);
    }
  }
  block.advance_received(p2p_data(from), slices);
  block.advance_sent(p2p_credit(from), slices);
}

/// Of a message through slots; pulled, its credit is one more step.
inline Cost message_cost(double bytes) { return {1, bytes}; }

}  // namespace tutti
