// Direct algorithms: every rank reaches every other in one exchange. Sources are summed in rank order.
//
// Plan, per rank, S bytes, n ranks; x is one exchange of flags among all:
//   two-shot all-reduce    reduce my chunk of everyone's input into everyone's output      2x   2(n-1)/n S moved
//   one-shot all-reduce    reduce all of everyone's input into my output                    2x   (n-1) S
//   reduce-scatter         reduce my chunk of everyone's input into my output               2x   (n-1) S, S: one chunk
//   all-gather             copy my chunk into everyone's output                             2x   (n-1) S, S: one chunk
//
// Peer-mapped, they read and write the peers' buffers between `enter` and `leave`. Pulled, a rank writes its own memory
// only: all-gather reads everyone's chunk, and two-shot does what one-shot does. Staged, slices go through the
// outboxes: each rank fills a slot of its own, signals all, reads the slots of all. Two-shot credits them, and is 3x.
// The others need no credits: a rank fills the slot of round k after all have signalled round k-1, so have read the
// slots of round k-2 and before.
//
// Source: the kernels of vLLM's custom all-reduce and of MSCCL++ (all pairs); Rabenseifner (2004) for two-shot.
// Example: n = 3, two-shot on [a0 a1 a2] [b0 b1 b2] [c0 c1 c2]. Rank 1 reads a1, b1, c1, writes a1+b1+c1 to all three.
#pragma once
#include "kernels/block.hpp"
#include "kernels/chunks.hpp"
#include "kernels/cost.hpp"

namespace tutti {

/// Bases of a call in which every rank signalled all its peers k times.
template <Block B>
TUTTI_KERNEL void advance_all(B& block, Count k) {
  block.advance_sent(data(kAll), k);
  block.advance_received(data(kAll), k);
}
/// The same, of filled slots of the outbox; `credited`: and all credited each.
template <Block B>
TUTTI_KERNEL void advance_outbox(B& block, Count uses, bool credited) {
  advance_all(block, uses);
  if (credited) {
    block.advance_sent(credit(kAll), uses);
    block.advance_received(credit(kAll), uses);
  }
  block.advance_uses(Region::outbox, uses);
}

/// This block's band of everyone's input, reduced into this rank's output. CPUs that pull begin at different parts: two
/// cores that walk through the same lines at once take 1.5 times as long. GPUs have all of it in flight at once.
template <Block B>
TUTTI_KERNEL void reduce_all_in(B& block, const Call& call) {
  const Range band = band_of(block, call, call.count);
  const int parts = call.pulls ? block.size() : 1;
  for (int i = 0; i < parts; ++i) {
    const auto which = static_cast<std::size_t>((block.rank() + i) % parts);
    const Range cut = part(band.size(), static_cast<std::size_t>(parts), which, line_of(call));
    const std::size_t at = (band.begin + cut.begin) * call.element();
    block.reduce(one(call.out + at), block.all_in(at), cut.size(), call.reduction);
  }
}

/// Behind an `enter` for both.
template <Block B>
TUTTI_KERNEL void two_shot_all_reduce(B& block, const Call& call, Memory memory) {
  const std::size_t width = call.element();
  const int n = block.size(), me = block.rank();
  if (memory == Memory::peer_mapped) {
    const Range mine = Chunks(block, call, true, block.slot_bytes()).band(me);
    const std::size_t at = mine.begin * width;
    block.reduce(block.all_out(at), block.all_in(at), mine.size(), call.reduction);
    block.leave();
    return;
  }
  if (memory == Memory::pulled) {
    reduce_all_in(block, call);
    block.leave();
    return;
  }
  block.cut_slots(slot_for_all(block, call, part(call.count, static_cast<std::size_t>(n), 0, line_of(call)).size()));
  const int slots = block.slots();
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
  advance_outbox(block, 2 * chunks.rounds(), true);
}

template <Block B>
TUTTI_KERNEL void two_shot_all_reduce(B& block, const Call& call) {
  // With more ranks, all of everyone's input is more than even slow stores to the peers cost.
  two_shot_all_reduce(block, call,
                      block.enter(call, Reach::both, block.size() <= 3 ? Reach::stable_in : Reach::nothing));
}

template <Block B>
TUTTI_KERNEL void one_shot_all_reduce(B& block, const Call& call) {
  const std::size_t width = call.element();
  const int me = block.rank();
  const Range band = band_of(block, call, call.count);
  if (block.enter(call, Reach::stable_in) == Memory::peer_mapped) {
    reduce_all_in(block, call);
    block.leave();
    return;
  }
  block.cut_slots(slot_for(block, call, call.count));
  const int slots = block.slots();
  const std::size_t slice_size = block.slot_bytes() / width;
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
  advance_outbox(block, rounds, true);
}

/// Behind an `enter` for in.
template <Block B>
TUTTI_KERNEL void direct_reduce_scatter(B& block, const Call& call, Memory memory) {
  const std::size_t width = call.element();
  const int n = block.size(), me = block.rank();
  if (memory == Memory::peer_mapped) {
    const Chunks chunks(block, call, false, block.slot_bytes());
    const Range mine = chunks.band(me);
    const std::size_t at = (mine.begin - chunks.chunk_of(me).begin) * width;
    block.reduce(one(call.out + at), block.all_in(mine.begin * width), mine.size(), call.reduction);
    block.leave();
    return;
  }
  block.cut_slots(slot_for_all(block, call, call.count));
  const std::size_t place = block.lane_bytes(n);
  const Chunks chunks(block, call, false, place);
  for (Count round = 0; round < chunks.rounds(); ++round) {
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
  }
  advance_outbox(block, chunks.rounds(), false);
}

template <Block B>
TUTTI_KERNEL void direct_reduce_scatter(B& block, const Call& call) {
  direct_reduce_scatter(block, call, block.enter(call, Reach::in));
}

/// Behind an `enter` for out.
template <Block B>
TUTTI_KERNEL void direct_all_gather(B& block, const Call& call, Memory memory) {
  const std::size_t width = call.element();
  const int n = block.size(), me = block.rank();
  const Range band = band_of(block, call, call.count);
  const auto out_at = [&](int r, std::size_t element) {
    return call.out + (static_cast<std::size_t>(r) * call.count + element) * width;
  };
  if (memory == Memory::peer_mapped) {
    block.copy(block.all_out(static_cast<std::size_t>(out_at(me, band.begin) - call.out)), call.in + band.begin * width,
               band.size() * width);
    block.leave();
    return;
  }
  if (memory == Memory::pulled) {
    // In place, the peers may be reading it.
    if (char* const own = out_at(me, band.begin); own != call.in + band.begin * width)
      block.copy(one(own), call.in + band.begin * width, band.size() * width);
    for (int i = 1; i < n; ++i) {
      const int r = (me + i) % n;
      block.copy(one(out_at(r, band.begin)), block.in_of(r) + band.begin * width, band.size() * width);
    }
    block.leave();
    return;
  }
  block.cut_slots(slot_for(block, call, call.count));
  const std::size_t slice_size = block.slot_bytes() / width;
  const Count rounds = slice_rounds(block, call, call.count, slice_size);
  for (Count round = 0; round < rounds; ++round) {
    const Range cut = piece(band.size(), slice_size, static_cast<std::size_t>(round));
    const std::size_t at = band.begin + cut.begin, bytes = cut.size() * width;
    block.copy(two(out_at(me, at), block.outbox(me, round)), call.in + at * width, bytes);
    block.signal(data(kAll), round + 1);
    block.wait(data(kAll), round + 1);
    for (int i = 1; i < n; ++i) {
      const int r = (me + i) % n;
      block.copy(one(out_at(r, at)), block.outbox(r, round), bytes);
    }
  }
  advance_outbox(block, rounds, false);
}

template <Block B>
TUTTI_KERNEL void direct_all_gather(B& block, const Call& call) {
  direct_all_gather(block, call, block.enter(call, Reach::out, Reach::in));
}

inline Cost two_shot_all_reduce_cost(int n, double bytes, bool mapped) {
  return {mapped ? 2 : 3, 2 * (n - 1) * bytes / n};
}
inline Cost one_shot_all_reduce_cost(int n, double bytes) { return {2, (n - 1) * bytes}; }
/// Reduce-scatter or all-gather; `bytes` of one chunk.
inline Cost direct_half_cost(int n, double bytes) { return {2, (n - 1) * bytes}; }

}  // namespace tutti
