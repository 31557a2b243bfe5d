// Direct algorithms: every rank reaches every other in one exchange. Sources are summed in rank order.
//
// Plan, per rank, S bytes, n ranks; x is one exchange of flags among all:
//   two-shot all-reduce    reduce my chunk of everyone's input into everyone's output      2x   2(n-1)/n S moved
//   one-shot all-reduce    reduce all of everyone's input into my output                    2x   (n-1) S
//   reduce-scatter         reduce my chunk of everyone's input into my output               2x   (n-1) S, S: one chunk
//   all-gather             copy my chunk into everyone's output                             2x   (n-1) S, S: one chunk
//
// Peer-mapped, they read and write the peers' buffers between `enter` and `leave`. Staged, slices go through the
// outboxes: each rank fills a slot of its own, signals all, reads the slots of all, credits them. Two-shot then: 3x.
//
// Source: the kernels of vLLM's custom all-reduce and of MSCCL++ (all pairs); Rabenseifner (2004) for two-shot.
// Example: n = 3, two-shot on [a0 a1 a2] [b0 b1 b2] [c0 c1 c2]. Rank 1 reads a1, b1, c1, writes a1+b1+c1 to all three.
#pragma once
#include "kernels/block.hpp"
#include "kernels/chunks.hpp"
#include "kernels/cost.hpp"

namespace tutti {

/// Bases of an outbox call: every rank filled `uses` slots, signalled all its peers and was credited by all.
template <Block B>
TUTTI_KERNEL void advance_outbox(B& block, Count uses) {
  block.advance_sent(data(kAll), uses);
  block.advance_received(data(kAll), uses);
  block.advance_sent(credit(kAll), uses);
  block.advance_received(credit(kAll), uses);
  block.advance_uses(Region::outbox, uses);
}

template <Block B>
TUTTI_KERNEL void two_shot_all_reduce(B& block, const Call& call) {
  const std::size_t width = call.element();
  const int n = block.size(), me = block.rank(), slots = block.geometry().slots;
  if (block.enter(call, Reach::both) == Memory::peer_mapped) {
    const Range mine = Chunks(block, call, true, block.geometry().slot_bytes).band(me);
    const std::size_t at = mine.begin * width;
    block.reduce(block.all_out(at), block.all_in(at), mine.size(), call.reduction);
    block.leave();
    return;
  }
  // A slot holds one slice of each rank's chunk, each at its own place.
  const std::size_t place = block.lane_bytes(n);
  const Chunks chunks(block, call, true, place);
  const auto give = [&](Count round) {
    const Count given = 2 * round;
    block.wait(credit(kAll), given + 1 - slots);
    for (int r = 0; r < n; ++r) {
      const Range slice = chunks.slice(r, round);
      if (r != me)
        block.copy(one(block.outbox(me, given) + static_cast<std::size_t>(r) * place), call.in + slice.begin * width,
                   slice.size() * width);
    }
    block.signal(data(kAll), given + 1);
  };
  if (chunks.rounds() > 0) give(0);
  for (Count round = 0; round < chunks.rounds(); ++round) {
    const Count given = 2 * round, reduced = given + 1;
    block.wait(credit(kAll), reduced + 1 - slots);
    block.wait(data(kAll), given + 1);
    const Range mine = chunks.slice(me, round);
    block.reduce(
        two(call.out + mine.begin * width, block.outbox(me, reduced)),
        block.outboxes(given).plus(static_cast<std::size_t>(me) * place).with_own(me, call.in + mine.begin * width),
        mine.size(), call.reduction);
    block.signal(data(kAll), reduced + 1);
    // A slice ahead, while the peers finish their sums: two slots of this round and one of the next, so three at least.
    if (round + 1 < chunks.rounds()) give(round + 1);
    block.wait(data(kAll), reduced + 1);
    for (int i = 1; i < n; ++i) {
      const int r = (me + i) % n;
      const Range theirs = chunks.slice(r, round);
      block.copy(one(call.out + theirs.begin * width), block.outbox(r, reduced), theirs.size() * width);
    }
    block.signal(credit(kAll), reduced + 1);
  }
  advance_outbox(block, 2 * chunks.rounds());
}

template <Block B>
TUTTI_KERNEL void one_shot_all_reduce(B& block, const Call& call) {
  const std::size_t width = call.element();
  const int me = block.rank(), slots = block.geometry().slots;
  const Range band = band_of(block, call, call.count);
  if (block.enter(call, Reach::stable_in) == Memory::peer_mapped) {
    block.reduce(one(call.out + band.begin * width), block.all_in(band.begin * width), band.size(), call.reduction);
    block.leave();
    return;
  }
  const std::size_t slice_size = block.geometry().slot_bytes / width;
  const Count rounds = slice_rounds(block, call, call.count, slice_size);
  const auto slice_at = [&](Count round) { return piece(band.size(), slice_size, static_cast<std::size_t>(round)); };
  const auto give = [&](Count round) {
    const Range slice = slice_at(round);
    block.wait(credit(kAll), round + 1 - slots);
    block.copy(one(block.outbox(me, round)), call.in + (band.begin + slice.begin) * width, slice.size() * width);
    block.signal(data(kAll), round + 1);
  };
  if (rounds > 0) give(0);
  for (Count round = 0; round < rounds; ++round) {
    if (round + 1 < rounds) give(round + 1);  // one slice ahead, so that the peers need not wait for my sum
    const Range slice = slice_at(round);
    const std::size_t at = (band.begin + slice.begin) * width;
    block.wait(data(kAll), round + 1);
    block.reduce(one(call.out + at), block.outboxes(round).with_own(me, call.in + at), slice.size(), call.reduction);
    block.signal(credit(kAll), round + 1);
  }
  advance_outbox(block, rounds);
}

template <Block B>
TUTTI_KERNEL void direct_reduce_scatter(B& block, const Call& call) {
  const std::size_t width = call.element();
  const int n = block.size(), me = block.rank(), slots = block.geometry().slots;
  if (block.enter(call, Reach::in) == Memory::peer_mapped) {
    const Chunks chunks(block, call, false, block.geometry().slot_bytes);
    const Range mine = chunks.band(me);
    const std::size_t at = (mine.begin - chunks.chunk_of(me).begin) * width;
    block.reduce(one(call.out + at), block.all_in(mine.begin * width), mine.size(), call.reduction);
    block.leave();
    return;
  }
  const std::size_t place = block.lane_bytes(n);
  const Chunks chunks(block, call, false, place);
  for (Count round = 0; round < chunks.rounds(); ++round) {
    block.wait(credit(kAll), round + 1 - slots);
    for (int r = 0; r < n; ++r) {
      const Range slice = chunks.slice(r, round);
      if (r != me)
        block.copy(one(block.outbox(me, round) + static_cast<std::size_t>(r) * place), call.in + slice.begin * width,
                   slice.size() * width);
    }
    block.signal(data(kAll), round + 1);
    block.wait(data(kAll), round + 1);
    const Range mine = chunks.slice(me, round);
    const std::size_t at = (mine.begin - chunks.chunk_of(me).begin) * width;
    block.reduce(
        one(call.out + at),
        block.outboxes(round).plus(static_cast<std::size_t>(me) * place).with_own(me, call.in + mine.begin * width),
        mine.size(), call.reduction);
    block.signal(credit(kAll), round + 1);
  }
  advance_outbox(block, chunks.rounds());
}

template <Block B>
TUTTI_KERNEL void direct_all_gather(B& block, const Call& call) {
  const std::size_t width = call.element();
  const int n = block.size(), me = block.rank(), slots = block.geometry().slots;
  const Range band = band_of(block, call, call.count);
  const auto out_at = [&](int r, std::size_t element) {
    return call.out + (static_cast<std::size_t>(r) * call.count + element) * width;
  };
  if (block.enter(call, Reach::out) == Memory::peer_mapped) {
    block.copy(block.all_out(static_cast<std::size_t>(out_at(me, band.begin) - call.out)), call.in + band.begin * width,
               band.size() * width);
    block.leave();
    return;
  }
  const std::size_t slice_size = block.geometry().slot_bytes / width;
  const Count rounds = slice_rounds(block, call, call.count, slice_size);
  for (Count round = 0; round < rounds; ++round) {
    const Range cut = piece(band.size(), slice_size, static_cast<std::size_t>(round));
    const std::size_t at = band.begin + cut.begin, bytes = cut.size() * width;
    block.wait(credit(kAll), round + 1 - slots);
    block.copy(two(out_at(me, at), block.outbox(me, round)), call.in + at * width, bytes);
    block.signal(data(kAll), round + 1);
    block.wait(data(kAll), round + 1);
    for (int i = 1; i < n; ++i) {
      const int r = (me + i) % n;
      block.copy(one(out_at(r, at)), block.outbox(r, round), bytes);
    }
    block.signal(credit(kAll), round + 1);
  }
  advance_outbox(block, rounds);
}

inline Cost two_shot_all_reduce_cost(int n, double bytes, bool mapped) {
  return {mapped ? 2 : 3, 2 * (n - 1) * bytes / n};
}
inline Cost one_shot_all_reduce_cost(int n, double bytes) { return {2, (n - 1) * bytes}; }
/// Reduce-scatter or all-gather; `bytes` of one chunk.
inline Cost direct_half_cost(int n, double bytes) { return {2, (n - 1) * bytes}; }

}  // namespace tutti
