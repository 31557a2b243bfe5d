// All-reduce in a logarithmic number of steps: recursive doubling, and halving-doubling (Rabenseifner).
//
// Plan: the ranks form a hypercube. Recursive doubling: along each dimension, partners exchange all they have and both
// add it. Halving-doubling: from the longest dimension down, partners exchange the halves that the other keeps, and
// add; then from the shortest up, they exchange what they have finished. n = p + r with p the largest power of two: the
// first r even ranks give their data to the rank after them first, and get the result from it last.
//   recursive doubling   1 + log2 p (+ 1, or 2 if r > p/2) steps, S log2 p (+ S) sent per rank
//   halving-doubling     1 + 2 log2 p (+ 2) steps, 2 (p-1)/p S (+ S)
// A message is one slot of the lane of its dimension; in halving-doubling it has a place for each chunk's slice. Long
// data goes in rounds of slices. The lower half of the cube is the first term at each step: same bits on all ranks.
//
// Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 19
// (2005).
// Example, n = 4, halving-doubling, rank 1: sends c2 c3 to 3, adds 3's c0 c1; sends c0 to 0, adds 0's c1, now complete;
// exchanges c1 for c0 with 0; exchanges c0 c1 for c2 c3 with 3.
#pragma once
#include "kernels/block.hpp"
#include "kernels/chunks.hpp"
#include "kernels/cost.hpp"

namespace tutti {

/// A rank's corner of the hypercube of the largest power of two of ranks, or its mate that has one.
class Corner {
 public:
  TUTTI_HD Corner(int rank, int n) : dimensions_(ceil_log2(n + 1) - 1), rest_(n - (1 << dimensions_)), rank_(rank) {}
  TUTTI_HD int dimensions() const { return dimensions_; }
  TUTTI_HD int corners() const { return 1 << dimensions_; }
  /// Whether this rank leaves the work to its mate.
  TUTTI_HD bool folded() const { return rank_ < 2 * rest_ && rank_ % 2 == 0; }
  /// The other of a pair of which one is folded; -1 if there is none.
  TUTTI_HD int mate() const { return rank_ >= 2 * rest_ ? -1 : rank_ ^ 1; }
  TUTTI_HD int corner() const { return rank_ < 2 * rest_ ? rank_ / 2 : rank_ - rest_; }
  TUTTI_HD int partner(int dimension) const {
    const int theirs = corner() ^ (1 << dimension);
    return theirs < rest_ ? 2 * theirs + 1 : theirs + rest_;
  }
  TUTTI_HD bool upper(int dimension) const { return (corner() >> dimension & 1) != 0; }
  /// One for each dimension, and the mate's.
  TUTTI_HD int lanes() const { return dimensions_ + 1; }
  TUTTI_HD Lane lane(int dimension) const { return {dimension, lanes()}; }
  TUTTI_HD Lane mates_lane() const { return lane(dimensions_); }

 private:
  int dimensions_, rest_, rank_;
};

/// Bases: k messages went each way between this rank and `peer`, and all were credited.
template <Block B>
TUTTI_KERNEL void advance_exchange(B& block, int peer, Count k) {
  block.advance_sent(data(peer), k);
  block.advance_received(data(peer), k);
  block.advance_sent(credit(peer), k);
  block.advance_received(credit(peer), k);
}

template <Block B>
TUTTI_KERNEL void recursive_doubling_all_reduce(B& block, const Call& call) {
  block.enter(call, Reach::nothing);
  const std::size_t width = call.element();
  const int slots = block.slots();
  const Corner mine(block.rank(), block.size());
  const int mate = mine.mate(), last = mine.dimensions() - 1;
  const Range band = band_of(block, call, call.count);
  const std::size_t slice_size = block.lane_bytes(mine.lanes()) / width;
  const Count rounds = slice_rounds(block, call, call.count, slice_size);
  Reduction partial = call.reduction;
  partial.divisor = 1;

  for (Count k = 0; k < rounds; ++k) {
    const Range cut = piece(band.size(), slice_size, static_cast<std::size_t>(k));
    const std::size_t at = (band.begin + cut.begin) * width, bytes = cut.size() * width;
    const char* const in = call.in + at;
    char* const out = call.out + at;
    if (mine.folded()) {
      block.wait(credit(mate), k + 1 - slots);
      block.copy(one(block.lane_to(mate, mine.mates_lane(), k)), in, bytes);
      block.signal(data(mate), k + 1);
      block.wait(data(mate), k + 1);
      block.copy(one(out), block.lane_from(mate, mine.mates_lane(), k), bytes);
      block.signal(credit(mate), k + 1);
      continue;
    }
    block.wait(credit(mine.partner(0)), k + 1 - slots);
    char* const first = block.lane_to(mine.partner(0), mine.lane(0), k);
    if (mate >= 0) {
      block.wait(data(mate), k + 1);
      block.reduce(two(out, first), two(block.lane_from(mate, mine.mates_lane(), k), in), cut.size(), partial);
      block.signal(credit(mate), k + 1);
    } else {
      block.copy(one(first), in, bytes);
    }
    block.signal(data(mine.partner(0)), k + 1);
    for (int d = 0; d <= last; ++d) {
      const int from = mine.partner(d), next = d < last ? mine.partner(d + 1) : mate;
      const char* const own = d > 0 || mate >= 0 ? out : in;
      block.wait(data(from), k + 1);
      const char* const theirs = block.lane_from(from, mine.lane(d), k);
      if (next >= 0) block.wait(credit(next), k + 1 - slots);
      char* const onward = next >= 0 ? block.lane_to(next, mine.lane(d + 1), k) : nullptr;
      block.reduce(present(out, onward), two(mine.upper(d) ? theirs : own, mine.upper(d) ? own : theirs), cut.size(),
                   d < last ? partial : call.reduction);
      block.signal(credit(from), k + 1);
      if (next >= 0) block.signal(data(next), k + 1);
    }
  }
  if (mate >= 0) advance_exchange(block, mate, rounds);
  for (int d = 0; d <= last && !mine.folded(); ++d) advance_exchange(block, mine.partner(d), rounds);
}

template <Block B>
TUTTI_KERNEL void halving_doubling_all_reduce(B& block, const Call& call) {
  const bool direct = block.enter(call, Reach::out) == Memory::peer_mapped;
  const std::size_t width = call.element();
  const int slots = block.slots();
  const Corner mine(block.rank(), block.size());
  const int mate = mine.mate(), last = mine.dimensions() - 1, corners = mine.corners();
  const std::size_t place =
      block.lane_bytes(mine.lanes()) / static_cast<std::size_t>(corners) / kLine * kLine;  // of a chunk's slice
  const Chunks chunks(block, call, true, place, corners);
  Reduction partial = call.reduction;
  partial.divisor = 1;

  for (Count round = 0; round < chunks.rounds(); ++round) {
    // Sends chunks [begin, end) of `from` as message k of this call; finished ones go straight to a mapped `out`.
    const auto send = [&](int to, Lane lane, Count k, int begin, int end, const char* from, bool finished) {
      block.wait(credit(to), k + 1 - slots);
      for (int c = begin; c < end; ++c) {
        const Range slice = chunks.slice(c, round);
        const std::size_t at = slice.begin * width;
        block.copy(one(finished && direct ? block.out_of(to) + at
                                          : block.lane_to(to, lane, k) + static_cast<std::size_t>(c) * place),
                   from + at, slice.size() * width);
      }
      block.signal(data(to), k + 1);
    };
    // Keeps finished chunks that message k brings.
    const auto keep = [&](int from, Lane lane, Count k, int begin, int end) {
      block.wait(data(from), k + 1);
      for (int c = begin; c < end && !direct; ++c) {
        const Range slice = chunks.slice(c, round);
        block.copy(one(call.out + slice.begin * width),
                   block.lane_from(from, lane, k) + static_cast<std::size_t>(c) * place, slice.size() * width);
      }
      block.signal(credit(from), k + 1);
    };
    // Adds the chunks that message k brings to those of `own`, into `out`.
    const auto add = [&](int from, Lane lane, Count k, int begin, int end, const char* own, bool theirs_first,
                         bool last_time) {
      block.wait(data(from), k + 1);
      for (int c = begin; c < end; ++c) {
        const Range slice = chunks.slice(c, round);
        const std::size_t at = slice.begin * width;
        const char* const theirs = block.lane_from(from, lane, k) + static_cast<std::size_t>(c) * place;
        block.reduce(one(call.out + at), theirs_first ? two(theirs, own + at) : two(own + at, theirs), slice.size(),
                     last_time ? call.reduction : partial);
      }
      block.signal(credit(from), k + 1);
    };

    if (mine.folded()) {
      send(mate, mine.mates_lane(), round, 0, corners, call.in, false);
      keep(mate, mine.mates_lane(), round, 0, corners);
      continue;
    }
    // The mate is the partner along one dimension more, that of all chunks: it gives first, and takes last.
    const int longest = mate >= 0 ? last + 1 : last;
    const char* own = call.in;
    for (int d = longest; d >= 0; --d) {
      const bool folds = d > last;
      const int partner = folds ? mate : mine.partner(d), half = 1 << d;
      const int keeps = mine.corner() >> d << d, gives = keeps ^ half;  // the first chunk of each half
      if (!folds) send(partner, mine.lane(d), 2 * round, gives, gives + half, own, false);
      add(partner, mine.lane(d), folds ? round : 2 * round, keeps, keeps + half, own, folds || mine.upper(d), d == 0);
      own = call.out;
    }
    for (int d = 0; d <= longest; ++d) {
      const bool folds = d > last;
      const int partner = folds ? mate : mine.partner(d), half = 1 << d;
      const int has = mine.corner() >> d << d, lacks = has ^ half;
      send(partner, mine.lane(d), folds ? round : 2 * round + 1, has, has + half, call.out, true);
      if (!folds) keep(partner, mine.lane(d), 2 * round + 1, lacks, lacks + half);
    }
  }
  if (mate >= 0) advance_exchange(block, mate, chunks.rounds());
  for (int d = 0; d <= last && !mine.folded(); ++d) advance_exchange(block, mine.partner(d), 2 * chunks.rounds());
}

inline Cost recursive_doubling_all_reduce_cost(int n, double bytes) {
  const Corner any(0, n);
  const int rest = n - any.corners(), folds = rest > 0 ? 1 : 0;
  // A chain that crosses every dimension ends at the opposite corner: only of more than half do both ends have mates.
  const int steps_of_folds = folds + (2 * rest > any.corners() ? 1 : 0);
  return {1 + any.dimensions() + steps_of_folds, (any.dimensions() + folds) * bytes};
}
inline Cost halving_doubling_all_reduce_cost(int n, double bytes) {
  const Corner any(0, n);
  const int folds = n > any.corners() ? 1 : 0;
  return {1 + 2 * any.dimensions() + 2 * folds, (2.0 * (any.corners() - 1) / any.corners() + folds) * bytes};
}

}  // namespace tutti
