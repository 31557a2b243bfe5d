// All-to-all: chunk r of each rank's input goes to rank r.
//
// Plan, direct: peer-mapped, each rank writes all its chunks into the peers' outputs between `enter` and `leave`;
// pulled, it reads its chunks in the peers' inputs. Staged, a slot of its outbox holds a slice of every peer's chunk;
// each peer copies its own. Plan, pairwise: at step i a rank sends to the one i ahead and receives from the one i
// behind; every link carries one message at a time.
//   direct     2 steps        pairwise   1 + (n-1) steps        (n-1) S sent and received per rank (S: one chunk)
//
// Source: pairwise exchange as in MPICH (Thakur, Rabenseifner, Gropp 2005).
// Example, n = 3, rank 0, pairwise: sends its chunk 1 to 1, takes chunk 0 of 2; sends chunk 2 to 2, takes chunk 0 of 1.
#pragma once
#include "kernels/block.hpp"
#include "kernels/chunks.hpp"
#include "kernels/cost.hpp"
#include "kernels/direct.hpp"

namespace tutti {

template <Block B>
TUTTI_KERNEL void direct_all_to_all(B& block, const Call& call) {
  const std::size_t width = call.element();
  const int n = block.size(), me = block.rank();
  const Range band = band_of(block, call, call.count);
  const auto at = [&](int r, std::size_t element) {
    return (static_cast<std::size_t>(r) * call.count + element) * width;
  };
  const Memory memory = block.enter(call, Reach::out, Reach::in);
  block.copy(one(call.out + at(me, band.begin)), call.in + at(me, band.begin), band.size() * width);
  if (memory == Memory::peer_mapped || memory == Memory::pulled) {
    for (int i = 1; i < n; ++i) {
      const int r = (me + i) % n;
      if (memory == Memory::pulled)
        block.copy(one(call.out + at(r, band.begin)), block.in_of(r) + at(me, band.begin), band.size() * width);
      else
        block.copy(one(block.out_of(r) + at(me, band.begin)), call.in + at(r, band.begin), band.size() * width);
    }
    block.leave();
    return;
  }
  block.cut_slots(slot_for_all(block, call, call.count));
  const std::size_t place = block.lane_bytes(n), slice_size = place / width;
  const Count rounds = slice_rounds(block, call, call.count, slice_size);
  for (Count round = 0; round < rounds; ++round) {
    const Range cut = piece(band.size(), slice_size, static_cast<std::size_t>(round));
    const std::size_t begin = band.begin + cut.begin, bytes = cut.size() * width;
    for (int r = 0; r < n; ++r)
      if (r != me)
        block.copy(one(block.outbox(me, round) + static_cast<std::size_t>(r) * place), call.in + at(r, begin), bytes);
    block.signal(data(kAll), round + 1);
    for (int i = 1; i < n; ++i) {
      const int r = (me + i) % n;
      block.wait(data(r), round + 1);
      block.copy(one(call.out + at(r, begin)), block.outbox(r, round) + static_cast<std::size_t>(me) * place, bytes);
    }
  }
  advance_outbox(block, rounds, false);
}

template <Block B>
TUTTI_KERNEL void pairwise_all_to_all(B& block, const Call& call) {
  const std::size_t width = call.element();
  const int n = block.size(), me = block.rank(), slots = block.slots(), lanes = n - 1;
  const Range band = band_of(block, call, call.count);
  const auto at = [&](int r, std::size_t element) {
    return (static_cast<std::size_t>(r) * call.count + element) * width;
  };
  const bool direct = block.enter(call, Reach::out) == Memory::peer_mapped;
  const std::size_t slice_size = block.lane_bytes(lanes) / width;
  const Count rounds = slice_rounds(block, call, call.count, slice_size);
  block.copy(one(call.out + at(me, band.begin)), call.in + at(me, band.begin), band.size() * width);
  for (int i = 1; i < n; ++i) {
    const int to = (me + i) % n, from = (me - i + n) % n;
    const Lane lane{i - 1, lanes};
    for (Count k = 0; k < rounds; ++k) {
      const Range cut = piece(band.size(), slice_size, static_cast<std::size_t>(k));
      const std::size_t begin = band.begin + cut.begin, bytes = cut.size() * width;
      block.wait(credit(to), k + 1 - slots);
      block.copy(one(direct ? block.out_of(to) + at(me, begin) : block.lane_to(to, lane, k)), call.in + at(to, begin),
                 bytes);
      block.signal(data(to), k + 1);
      block.wait(data(from), k + 1);
      if (!direct) block.copy(one(call.out + at(from, begin)), block.lane_from(from, lane, k), bytes);
      block.signal(credit(from), k + 1);
    }
    block.advance_sent(data(to), rounds);
    block.advance_received(credit(to), rounds);
    block.advance_received(data(from), rounds);
    block.advance_sent(credit(from), rounds);
  }
}

inline Cost direct_all_to_all_cost(int n, double bytes) { return {2, (n - 1) * bytes}; }
inline Cost pairwise_all_to_all_cost(int n, double bytes) { return {n, (n - 1) * bytes}; }

}  // namespace tutti
