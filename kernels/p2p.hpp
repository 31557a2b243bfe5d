// Send and receive between two ranks.
//
// Plan: a message that fits one slot goes through it, with a header that says what it is: the sender may end before the
// receiver starts. For a longer one the ends meet: the sender's header in slot 0, and the receiver's invitation, say
// where their buffers are mapped. If both are, the sender writes the last half into the receiver's buffer while the
// receiver reads the first (CPU), or the receiver reads all (GPU: a link is no faster from both ends). If one is, the
// other end copies; if none, slices go through slots. 1 step; 2 if the ends meet and a buffer is mapped, else two more
// than slices; S bytes (through slots: copied twice). Messages of one pair and direction keep their order; they share
// nothing with collectives.
// Example: send(100 bytes) = header and data in slot 0, one signal. recv = wait, compare, copy, credit.
#pragma once
#include "kernels/block.hpp"
#include "kernels/chunks.hpp"
#include "kernels/cost.hpp"

namespace tutti {

/// Slices of a message through slots; at least one, for the header.
TUTTI_HD Count message_slices(const Connections& block, const Call& call) {
  const Count slices = slice_rounds(block, call, call.count, block.geometry().p2p_slot_bytes / call.element());
  return slices ? slices : 1;
}

/// Of the `bytes` of a message, those at its end that the sender writes into the receiver's buffer; the receiver reads
/// what stands before them. The arguments say whose buffer is mapped.
TUTTI_HD std::size_t written_bytes(const Connections& block, bool of_sender, bool of_receiver, std::size_t bytes) {
  if (!of_receiver) return 0;
  if (!of_sender) return bytes;
  return block.geometry().both_copy ? bytes / 2 / kLine * kLine : 0;
}

/// The ends of a long message meet; whether that was all. Signal and credit 1 say where the buffers are: in slot 0 the
/// sender's header, beside the slots the receiver's invitation. Signal and credit 2 say that an end has read what the
/// other said, and copied its part. So slot 0 has been read when the sender leaves, and the invitation when the
/// receiver does; slot 1, whose use they count, stays empty.
template <Block B>
TUTTI_KERNEL bool meet_receiver(B& block, const Call& call, const char* in, std::size_t at, std::size_t bytes) {
  const int to = call.peer;
  block.wait(p2p_credit(to), 1 - block.geometry().p2p_slots);
  block.offer(block.slot_at(to, 0), call, call.in_place);
  block.signal(p2p_data(to), 1);
  block.wait(p2p_credit(to), 1);
  char* const out = block.accept(block.invitation(block.rank(), to), call).there;
  const bool mapped = call.in_place.mapped();
  const std::size_t written = written_bytes(block, mapped, out != nullptr, bytes), before = bytes - written;
  if (out) block.copy(one(out + at + before), in + before, written);
  block.signal(p2p_data(to), 2);
  block.wait(p2p_credit(to), 2);
  return mapped || out;
}

template <Block B>
TUTTI_KERNEL bool meet_sender(B& block, const Call& call, char* out, std::size_t at, std::size_t bytes) {
  const int from = call.peer;
  block.offer(block.invitation(from, block.rank()), call, call.out_place);
  block.signal(p2p_credit(from), 1);
  block.wait(p2p_data(from), 1);
  const char* const in = block.accept(block.slot_from(from, 0), call).there;
  const bool mapped = call.out_place.mapped();
  if (in) block.copy(one(out), in + at, bytes - written_bytes(block, true, mapped, bytes));
  block.signal(p2p_credit(from), 2);
  block.wait(p2p_data(from), 2);
  return mapped || in;
}

template <Block B>
TUTTI_KERNEL void send(B& block, const Call& call) {
  const int to = call.peer, slots = block.geometry().p2p_slots;
  const Range band = band_of(block, call, call.count);
  const std::size_t at = band.begin * call.element(), bytes = band.size() * call.element();
  const char* const in = call.in + at;
  const std::size_t slot_bytes = block.geometry().p2p_slot_bytes;
  const Count slices = message_slices(block, call), met = slices > 1 ? 2 : 0;
  const bool done = met && meet_receiver(block, call, in, at, bytes);
  const Count uses = done ? met : met + slices;
  for (Count k = met; k < uses; ++k) {
    const Range cut = piece(bytes, slot_bytes, static_cast<std::size_t>(k - met));
    Header* const slot = block.slot_at(to, k);
    block.wait(p2p_credit(to), k + 1 - slots);
    if (k == 0) block.offer(slot, call, {});
    block.copy(one(slot->data_of(cut.size())), in + cut.begin, cut.size());
    block.signal(p2p_data(to), k + 1);
  }
  block.advance_sent(p2p_data(to), uses);
  block.advance_received(p2p_credit(to), uses);
}

template <Block B>
TUTTI_KERNEL void recv(B& block, const Call& call) {
  const int from = call.peer;
  const Range band = band_of(block, call, call.count);
  const std::size_t at = band.begin * call.element(), bytes = band.size() * call.element();
  char* const out = call.out + at;
  const std::size_t slot_bytes = block.geometry().p2p_slot_bytes;
  const Count slices = message_slices(block, call), met = slices > 1 ? 2 : 0;
  const bool done = met && meet_sender(block, call, out, at, bytes);
  const Count uses = done ? met : met + slices;
  for (Count k = met; k < uses; ++k) {
    const Range cut = piece(bytes, slot_bytes, static_cast<std::size_t>(k - met));
    Header* const slot = block.slot_from(from, k);
    block.wait(p2p_data(from), k + 1);
    if (k == 0) block.accept(slot, call);
    block.copy(one(out + cut.begin), slot->data_of(cut.size()), cut.size());
    block.signal(p2p_credit(from), k + 1);
  }
  block.advance_received(p2p_data(from), uses);
  block.advance_sent(p2p_credit(from), uses);
}

/// Of a message through one slot; where the ends meet, the second signals are one more step.
inline Cost message_cost(double bytes) { return {1, bytes}; }

}  // namespace tutti
