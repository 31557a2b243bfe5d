// All-reduce along a double binary tree; broadcast and reduce along one binary tree.
//
// Plan: slices go up from the leaves, each rank adding its own and its children's, and the root's sums go down again.
// All levels work at once, on different slices. All-reduce has two trees, block b runs tree b mod 2: a rank that is
// inner in one is a leaf in the other (of odd n, rank 0 is inner in both), so that all ports carry data both ways.
//   all-reduce   1 + 2 ceil(log2 n) steps; at most 2 S (+ S/b of b blocks, b odd) sent, and as much received, per rank
//   broadcast    1 + floor(log2 n) steps; at most 2 S sent, S received        reduce: the reverse
// Through lanes of the inbox; peer-mapped, what goes down goes straight to the children's `out`. A rank adds its own
// slice, its first child's and its second child's, in this order: same bits in every run, on all ranks.
//
// Source: Sanders, Speck and Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", Parallel
// Computing 35 (2009); the trees as in NCCL's: inner nodes by lowest set bit.
// Example, n = 4: tree 0 is 0 over 2 over {1, 3}, tree 1 is 3 over 1 over {0, 2}. Block 0, rank 2: waits for slices of
// 1 and 3, adds them to its own, sends the sum to 0; waits for 0's total, keeps it, sends it to 1 and 3.
#pragma once
#include "kernels/block.hpp"
#include "kernels/chunks.hpp"
#include "kernels/cost.hpp"

namespace tutti {

/// A rank's place in a binary tree: -1 where there is none; no second child without a first.
struct Branches {
  int parent = -1;
  int first = -1;
  int second = -1;
};

/// The tree whose in-order walk is 0, 1, 2, ...: a rank's level is its lowest set bit, rank 0 is above all.
TUTTI_HD Branches in_order_tree(int rank, int n) {
  int bit = 1;
  while (bit < n && (rank & bit) == 0) bit *= 2;
  Branches at;
  if (rank != 0) {
    at.parent = (rank - bit) | (2 * bit);
    if (at.parent >= n) at.parent = rank - bit;
    if (bit > 1) at.first = rank - bit / 2;
  }
  int right = bit / 2;
  while (right > 0 && rank + right >= n) right /= 2;
  if (right > 0) (at.first < 0 ? at.first : at.second) = rank + right;
  return at;
}

/// Tree 0 or 1 of the double tree: the second is the first mirrored (n even), or shifted by one rank (n odd).
TUTTI_HD Branches double_tree(int which, int rank, int n) {
  const auto renamed = [&](int r) { return r < 0 || which == 0 ? r : n % 2 == 0 ? n - 1 - r : (r + 1) % n; };
  const int original = which == 0 ? rank : n % 2 == 0 ? n - 1 - rank : (rank + n - 1) % n;
  const Branches at = in_order_tree(original, n);
  return {renamed(at.parent), renamed(at.first), renamed(at.second)};
}

/// The tree in which the i-th rank from `root` is above the (2i+1)-th and the (2i+2)-th.
TUTTI_HD Branches tree_under(int root, int rank, int n) {
  const int i = (rank - root + n) % n;
  const auto rank_of = [&](int j) { return j < n ? (root + j) % n : -1; };
  return {i == 0 ? -1 : rank_of((i - 1) / 2), rank_of(2 * i + 1), rank_of(2 * i + 2)};
}

/// Slices on their way along one tree.
template <Block B>
class TreeWalk {
 public:
  /// `mine` is this rank's place, `second` whether it is its parent's second child. `direct`: the peers' `out` is
  /// mapped.
  TUTTI_KERNEL TreeWalk(B& block, const Call& call, Branches mine, bool second, bool direct)
      : block_(block),
        call_(call),
        at_(mine),
        up_lane_{second ? 2 : 1, kLanes},
        direct_(direct),
        band_(band_of(block, call, call.count)),
        slice_(block.lane_bytes(kLanes) / call.element()),
        rounds_(slice_rounds(block, call, call.count, slice_)) {}

  TUTTI_KERNEL Count rounds() const { return rounds_; }

  /// Slice k of this rank and its children goes to the parent; at the root, to `out`.
  TUTTI_KERNEL void up(Count k) {
    const Range cut = slice(k);
    const char* const mine = call_.in + cut.begin * call_.element();
    if (at_.first >= 0) block_.wait(data(at_.first), k + 1);
    if (at_.second >= 0) block_.wait(data(at_.second), k + 1);
    const char* const first = at_.first >= 0 ? block_.lane_from(at_.first, {1, kLanes}, k) : nullptr;
    const char* const second = at_.second >= 0 ? block_.lane_from(at_.second, {2, kLanes}, k) : nullptr;
    const View terms = present(mine, first, second);
    const bool root = at_.parent < 0;
    if (!root) block_.wait(credit(at_.parent), k + 1 - block_.slots());
    const View onward = one(root ? call_.out + cut.begin * call_.element() : block_.lane_to(at_.parent, up_lane_, k));
    Reduction reduction = call_.reduction;
    if (!root) reduction.divisor = 1;
    if (first)
      block_.reduce(onward, terms, cut.size(), reduction);
    else
      block_.copy(onward, mine, cut.size() * call_.element());
    if (!root) block_.signal(data(at_.parent), k + 1);
    if (at_.first >= 0) block_.signal(credit(at_.first), k + 1);
    if (at_.second >= 0) block_.signal(credit(at_.second), k + 1);
  }

  /// Slice k comes from the parent, or from `source` at the root, and goes to `out` and the children.
  TUTTI_KERNEL void down(Count k, const char* source) {
    const Range cut = slice(k);
    const std::size_t at = cut.begin * call_.element(), bytes = cut.size() * call_.element();
    const bool root = at_.parent < 0;
    if (!root) block_.wait(data(at_.parent), k + 1);
    char* const first = at_.first >= 0 ? place_at(at_.first, at, k) : nullptr;
    char* const second = at_.second >= 0 ? place_at(at_.second, at, k) : nullptr;
    if (root || direct_) {
      const char* const from = root ? source + at : call_.out + at;
      if (first) block_.copy(present(first, second), from, bytes);
    } else {
      block_.copy(present(call_.out + at, first, second), block_.lane_from(at_.parent, {0, kLanes}, k), bytes);
    }
    if (!root) block_.signal(credit(at_.parent), k + 1);
    if (first) block_.signal(data(at_.first), k + 1);
    if (second) block_.signal(data(at_.second), k + 1);
  }

  /// Bases: `rounds` slices went up, or down, on each edge, and each was credited.
  TUTTI_KERNEL void advance_up() {
    if (at_.parent >= 0) advance_sender(at_.parent);
    if (at_.first >= 0) advance_receiver(at_.first);
    if (at_.second >= 0) advance_receiver(at_.second);
  }
  TUTTI_KERNEL void advance_down() {
    if (at_.parent >= 0) advance_receiver(at_.parent);
    if (at_.first >= 0) advance_sender(at_.first);
    if (at_.second >= 0) advance_sender(at_.second);
  }

 private:
  static constexpr int kLanes = 3;  ///< of the inbox: from the parent, the first child, the second

  TUTTI_KERNEL Range slice(Count k) const {
    const Range cut = piece(band_.size(), slice_, static_cast<std::size_t>(k));
    return {band_.begin + cut.begin, band_.begin + cut.end};
  }
  /// Where a child takes slice k, free again.
  TUTTI_KERNEL char* place_at(int child, std::size_t at, Count k) {
    block_.wait(credit(child), k + 1 - block_.slots());
    return direct_ ? block_.out_of(child) + at : block_.lane_to(child, {0, kLanes}, k);
  }
  TUTTI_KERNEL void advance_sender(int to) {
    block_.advance_sent(data(to), rounds_);
    block_.advance_received(credit(to), rounds_);
  }
  TUTTI_KERNEL void advance_receiver(int from) {
    block_.advance_received(data(from), rounds_);
    block_.advance_sent(credit(from), rounds_);
  }

  B& block_;
  const Call& call_;
  Branches at_;
  Lane up_lane_;
  bool direct_;
  Range band_;
  std::size_t slice_;
  Count rounds_;
};

template <Block B>
TUTTI_KERNEL void tree_all_reduce(B& block, const Call& call) {
  const int which = block.index() % 2, me = block.rank(), n = block.size();
  const bool direct = block.enter(call, Reach::out) == Memory::peer_mapped;
  const Branches mine = double_tree(which, me, n);
  const bool second = mine.parent >= 0 && double_tree(which, mine.parent, n).second == me;
  TreeWalk<B> walk(block, call, mine, second, direct);
  // A slice takes up to 2 depth steps from a leaf to the root and back: so many are under way before the first is back.
  const Count lead = 2 * ceil_log2(n);
  for (Count k = 0; k < walk.rounds() + lead; ++k) {
    if (k < walk.rounds()) walk.up(k);
    if (k >= lead) walk.down(k - lead, call.out);
  }
  walk.advance_up();
  walk.advance_down();
}

template <Block B>
TUTTI_KERNEL void tree_broadcast(B& block, const Call& call) {
  const bool direct = block.enter(call, Reach::out) == Memory::peer_mapped;
  TreeWalk<B> walk(block, call, tree_under(call.peer, block.rank(), block.size()), false, direct);
  for (Count k = 0; k < walk.rounds(); ++k) walk.down(k, call.in);
  walk.advance_down();
}

template <Block B>
TUTTI_KERNEL void tree_reduce(B& block, const Call& call) {
  block.enter(call, Reach::nothing);
  const int me = block.rank(), n = block.size();
  const Branches mine = tree_under(call.peer, me, n);
  const bool second = mine.parent >= 0 && tree_under(call.peer, mine.parent, n).second == me;
  TreeWalk<B> walk(block, call, mine, second, false);
  for (Count k = 0; k < walk.rounds(); ++k) walk.up(k);
  walk.advance_up();
}

/// Each block moves an equal part of S along its tree.
inline Cost tree_all_reduce_cost(int n, double bytes, int blocks) {
  const int trees = blocks > 1 ? 2 : 1;
  const auto depth_of = [n](int which, int rank) {
    int depth = 0;
    for (int r = rank; (r = double_tree(which, r, n).parent) >= 0;) ++depth;
    return depth;
  };
  int depth = 0, most = 0;  // most: bands that one rank sends
  for (int rank = 0; rank < n; ++rank) {
    int bands = 0;
    for (int which = 0; which < trees; ++which) {
      const Branches at = double_tree(which, rank, n);
      const int edges = (at.parent >= 0) + (at.first >= 0) + (at.second >= 0);
      bands += edges * ((blocks + 1 - which) / 2);
      const int its = depth_of(which, rank);
      depth = its > depth ? its : depth;
    }
    most = bands > most ? bands : most;
  }
  return {1 + 2 * depth, most * bytes / blocks};
}
/// Broadcast or reduce.
inline Cost rooted_tree_cost(int n, double bytes) { return {ceil_log2(n + 1), (n > 2 ? 2 : 1) * bytes}; }

}  // namespace tutti
