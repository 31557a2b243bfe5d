// Gather to a root, scatter from a root.
//
// Plan, direct gather: peer-mapped, each rank writes its chunk into the root's output and tells the root. Pulled, the
// root reads it in that rank's input, and tells that rank. Staged, a rank fills slots of its outbox for the root.
// Direct scatter: each rank reads its chunk in the root's input, or in slots of the root's outbox, which hold a slice
// of every rank's chunk. Plan, tree: a binomial tree. The rank that is i places after the root, with lowest set bit b,
// stands for the b places from i on: gather passes their chunks up in order, own chunk first; scatter passes them down,
// own chunk last.
//   direct   2 steps, (n-1) S in, or out, at the root (S: one chunk)
//   tree     1 + the most bits set in 1 .. n-1 steps, (n-1) S; fewer ranks knock at the root
//
// Source: binomial trees as in MPICH (Thakur, Rabenseifner, Gropp 2005).
// Example, n = 4, root 0, gather along the tree: 3 sends to 2; 1 and 2 send to 0, 2 its own chunk and then 3's.
#pragma once
#include "kernels/block.hpp"
#include "kernels/chunks.hpp"
#include "kernels/cost.hpp"

namespace tutti {

template <Block B>
TUTTI_KERNEL void direct_gather(B& block, const Call& call) {
  const std::size_t width = call.element();
  const int n = block.size(), me = block.rank(), root = call.peer;
  const Range band = band_of(block, call, call.count);
  const auto out_at = [&](int r, std::size_t element) {
    return call.out + (static_cast<std::size_t>(r) * call.count + element) * width;
  };
  const Memory memory = block.enter(call, Reach::root_out, Reach::in);
  const bool direct = memory == Memory::peer_mapped;
  if (me == root) block.copy(one(out_at(me, band.begin)), call.in + band.begin * width, band.size() * width);
  if (memory == Memory::pulled) {
    if (me != root) {
      block.wait(credit(root), 1);
      block.advance_received(credit(root), 1);
      return;
    }
    for (int i = 1; i < n; ++i) {
      const int r = (root + i) % n;
      block.copy(one(out_at(r, band.begin)), block.in_of(r) + band.begin * width, band.size() * width);
      block.signal(credit(r), 1);
    }
    block.advance_sent(credit(kAll), 1);
    return;
  }
  if (!direct) block.cut_slots(slot_for(block, call, call.count));
  const int slots = block.slots();
  const std::size_t slice_size = block.slot_bytes() / width;
  Count rounds = slice_rounds(block, call, call.count, slice_size);
  if (direct) {
    rounds = 1;
    const std::size_t at = (static_cast<std::size_t>(me) * call.count + band.begin) * width;
    if (me != root) {
      block.copy(one(block.out_of(root) + at), call.in + band.begin * width, band.size() * width);
      block.signal(data(root), 1);
    } else {
      block.wait(data(kAll), 1);
    }
  } else {
    for (Count round = 0; round < rounds; ++round) {
      const Range cut = piece(band.size(), slice_size, static_cast<std::size_t>(round));
      const std::size_t at = band.begin + cut.begin, bytes = cut.size() * width;
      if (me != root) {
        block.wait(credit(root), round + 1 - slots);
        block.copy(one(block.outbox(me, round)), call.in + at * width, bytes);
        block.signal(data(root), round + 1);
        continue;
      }
      for (int i = 1; i < n; ++i) {
        const int r = (root + i) % n;
        block.wait(data(r), round + 1);
        block.copy(one(out_at(r, at)), block.outbox(r, round), bytes);
      }
      block.signal(credit(kAll), round + 1);
    }
    block.advance_uses(Region::outbox, rounds);
  }
  if (me == root) {
    block.advance_received(data(kAll), rounds);
    if (!direct) block.advance_sent(credit(kAll), rounds);
  } else {
    block.advance_sent(data(root), rounds);
    if (!direct) block.advance_received(credit(root), rounds);
  }
}

template <Block B>
TUTTI_KERNEL void direct_scatter(B& block, const Call& call) {
  const std::size_t width = call.element();
  const int n = block.size(), me = block.rank(), root = call.peer;
  const Range band = band_of(block, call, call.count);
  const auto in_at = [&](const char* in, int r, std::size_t element) {
    return in + (static_cast<std::size_t>(r) * call.count + element) * width;
  };
  const bool direct = block.enter(call, Reach::root_in) == Memory::peer_mapped;
  if (!direct) block.cut_slots(slot_for_all(block, call, call.count));
  const int slots = block.slots();
  const std::size_t place = block.lane_bytes(n), slice_size = place / width;
  Count rounds = slice_rounds(block, call, call.count, slice_size);
  if (me == root) block.copy(one(call.out + band.begin * width), in_at(call.in, me, band.begin), band.size() * width);
  if (direct) {
    rounds = 1;
    if (me == root) {
      block.wait(credit(kAll), 1);
    } else {
      block.copy(one(call.out + band.begin * width), in_at(block.in_of(root), me, band.begin), band.size() * width);
      block.signal(credit(root), 1);
    }
  } else {
    for (Count round = 0; round < rounds; ++round) {
      const Range cut = piece(band.size(), slice_size, static_cast<std::size_t>(round));
      const std::size_t at = band.begin + cut.begin, bytes = cut.size() * width;
      if (me != root) {
        block.wait(data(root), round + 1);
        block.copy(one(call.out + at * width), block.outbox(root, round) + static_cast<std::size_t>(me) * place, bytes);
        block.signal(credit(root), round + 1);
        continue;
      }
      block.wait(credit(kAll), round + 1 - slots);
      for (int r = 0; r < n; ++r)
        if (r != me)
          block.copy(one(block.outbox(me, round) + static_cast<std::size_t>(r) * place), in_at(call.in, r, at), bytes);
      block.signal(data(kAll), round + 1);
    }
    block.advance_uses(Region::outbox, rounds);
  }
  if (me == root) {
    if (!direct) block.advance_sent(data(kAll), rounds);
    block.advance_received(credit(kAll), rounds);
  } else {
    if (!direct) block.advance_received(data(root), rounds);
    block.advance_sent(credit(root), rounds);
  }
}

/// A rank's place in the binomial tree under a root; ranks are counted from the root on.
class Binomial {
 public:
  TUTTI_HD Binomial(int root, int rank, int n) : root_(root), n_(n), place_((rank - root + n) % n) {}
  TUTTI_HD int place() const { return place_; }
  TUTTI_HD int rank_of(int place) const { return (root_ + place) % n_; }
  /// The places that a place stands for: [place, end_of(place)).
  TUTTI_HD int end_of(int place) const {
    const int end = place == 0 ? n_ : place + (place & -place);
    return end < n_ ? end : n_;
  }
  TUTTI_HD int size_of(int place) const { return end_of(place) - place; }
  TUTTI_HD int parent() const { return place_ & (place_ - 1); }
  /// The child that stands for a place below this one: the bit of its distance says which.
  TUTTI_HD int bit_to(int place) const {
    int bit = 0;
    while ((2 << bit) <= place - place_) ++bit;
    return bit;
  }
  TUTTI_HD int child(int bit) const { return place_ + (1 << bit); }
  /// Calls f(bit, child's place) for each child.
  template <class F>
  TUTTI_KERNEL void children(F f) const {
    for (int bit = 0; (1 << bit) < size_of(place_); ++bit) f(bit, child(bit));
  }

 private:
  int root_, n_, place_;
};

template <Block B>
TUTTI_KERNEL void tree_gather(B& block, const Call& call) {
  block.enter(call, Reach::nothing);
  const std::size_t width = call.element();
  const int n = block.size(), slots = block.slots(), lanes = ceil_log2(n);
  const Binomial tree(call.peer, block.rank(), n);
  const int mine = tree.place(), size = tree.size_of(mine), parent = tree.rank_of(tree.parent());
  const Range band = band_of(block, call, call.count);
  const std::size_t slice_size = block.lane_bytes(lanes) / width;
  const Count rounds = slice_rounds(block, call, call.count, slice_size);
  const Lane upward{mine == 0 ? 0 : ceil_log2(mine & -mine), lanes};  // at the parent: this rank's distance to it
  for (Count round = 0; round < rounds; ++round) {
    const Range cut = piece(band.size(), slice_size, static_cast<std::size_t>(round));
    const std::size_t at = band.begin + cut.begin, bytes = cut.size() * width;
    for (int i = 0; i < size; ++i) {
      const int whose = mine + i;
      const Count up = round * size + i;
      if (mine != 0) block.wait(credit(parent), up + 1 - slots);
      char* const to = mine != 0 ? block.lane_to(parent, upward, up)
                                 : call.out + (static_cast<std::size_t>(tree.rank_of(whose)) * call.count + at) * width;
      if (i == 0) {
        block.copy(one(to), call.in + at * width, bytes);
      } else {
        const int bit = tree.bit_to(whose), child = tree.child(bit), from = tree.rank_of(child);
        const Count k = round * tree.size_of(child) + whose - child;
        block.wait(data(from), k + 1);
        block.copy(one(to), block.lane_from(from, {bit, lanes}, k), bytes);
        block.signal(credit(from), k + 1);
      }
      if (mine != 0) block.signal(data(parent), up + 1);
    }
  }
  if (mine != 0) {
    block.advance_sent(data(parent), rounds * size);
    block.advance_received(credit(parent), rounds * size);
  }
  tree.children([&](int, int child) {
    block.advance_received(data(tree.rank_of(child)), rounds * tree.size_of(child));
    block.advance_sent(credit(tree.rank_of(child)), rounds * tree.size_of(child));
  });
}

template <Block B>
TUTTI_KERNEL void tree_scatter(B& block, const Call& call) {
  block.enter(call, Reach::nothing);
  const std::size_t width = call.element();
  const int slots = block.slots();
  const Binomial tree(call.peer, block.rank(), block.size());
  const int mine = tree.place(), size = tree.size_of(mine), parent = tree.rank_of(tree.parent());
  const Range band = band_of(block, call, call.count);
  const std::size_t slice_size = block.slot_bytes() / width;
  const Count rounds = slice_rounds(block, call, call.count, slice_size);
  for (Count round = 0; round < rounds; ++round) {
    const Range cut = piece(band.size(), slice_size, static_cast<std::size_t>(round));
    const std::size_t at = band.begin + cut.begin, bytes = cut.size() * width;
    for (int i = size - 1; i >= 0; --i) {
      const int whose = mine + i;
      const Count down = round * size + size - 1 - i;
      if (mine != 0) block.wait(data(parent), down + 1);
      const char* const from =
          mine != 0 ? block.lane_from(parent, {}, down)
                    : call.in + (static_cast<std::size_t>(tree.rank_of(whose)) * call.count + at) * width;
      if (i == 0) {
        block.copy(one(call.out + at * width), from, bytes);
      } else {
        const int child = tree.child(tree.bit_to(whose)), to = tree.rank_of(child);
        const Count k = round * tree.size_of(child) + tree.end_of(child) - 1 - whose;
        block.wait(credit(to), k + 1 - slots);
        block.copy(one(block.lane_to(to, {}, k)), from, bytes);
        block.signal(data(to), k + 1);
      }
      if (mine != 0) block.signal(credit(parent), down + 1);
    }
  }
  if (mine != 0) {
    block.advance_received(data(parent), rounds * size);
    block.advance_sent(credit(parent), rounds * size);
  }
  tree.children([&](int, int child) {
    block.advance_sent(data(tree.rank_of(child)), rounds * tree.size_of(child));
    block.advance_received(credit(tree.rank_of(child)), rounds * tree.size_of(child));
  });
}

/// Gather or scatter; `bytes` of one chunk.
inline Cost direct_gather_cost(int n, double bytes) { return {2, (n - 1) * bytes}; }
inline Cost tree_gather_cost(int n, double bytes) {
  int depth = 0;
  for (int place = 1; place < n; ++place) {
    int bits = 0;
    for (int rest = place; rest != 0; rest &= rest - 1) ++bits;
    depth = bits > depth ? bits : depth;
  }
  return {1 + depth, (n - 1) * bytes};
}

}  // namespace tutti
