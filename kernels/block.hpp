// The Block: all that a kernel may do. Three executors provide one: block_cuda.cuh, block_host.hpp, block_model.hpp.
//
// A kernel is a function template over its Block. All blocks of a call, on all ranks, make progress concurrently; block
// b of a rank talks only to block b of its peers. A word whose wait failed (time-out, mismatch, a peer that failed)
// makes the block *failed*: its later words do nothing and publish nothing, so kernels carry no error paths; conditions
// computed from words stay defined. Between words of one block, memory that an earlier copy or reduce touched may be
// touched again only after signal, wait, enter, leave or sync: on a GPU, different threads did it.
#pragma once
#include <concepts>
#include <cstddef>

#include "kernels/connection.hpp"

namespace tutti {

/// What `enter` agreed on. The same on all ranks (unless failed).
enum class Memory {
  failed,
  staged,       ///< some buffer that matters is not mapped: go through slots
  peer_mapped,  ///< in_of / out_of are valid
  pulled,       ///< the same for another Reach: every rank would rather read its peers' memory than write it, or, in a
                ///< broadcast, share the copying
  multicast,    ///< the same, and the switch reaches the buffers of all ranks at once
};

/// Which buffers of the peers a kernel wants to reach directly.
enum class Reach {
  nothing,
  in,         ///< reads every rank's `in`
  stable_in,  ///< reads every rank's `in` while ranks write their `out`: peer-mapped only if no rank is in place
  out,        ///< writes every rank's `out`
  both,
  root_in,      ///< reads the root's `in` (the root is call.peer)
  root_out,     ///< writes the root's `out`
  in_root_out,  ///< reads every rank's `in`, writes the root's `out`
  root_in_out,  ///< reads the root's `in`; the root writes the others' `out`
  // The same as in, out and both, through the switch if it reaches them.
  multicast_in,
  multicast_out,
  multicast_both,
};

/// Whether a kernel reads `in` of `rank`, and writes its `out`.
TUTTI_HD bool reads_in(Reach reach, int rank, int root) {
  return reach == Reach::in || reach == Reach::stable_in || reach == Reach::both || reach == Reach::in_root_out ||
         reach == Reach::multicast_in || reach == Reach::multicast_both ||
         ((reach == Reach::root_in || reach == Reach::root_in_out) && rank == root);
}
TUTTI_HD bool writes_out(Reach reach, int rank, int root) {
  return reach == Reach::out || reach == Reach::both || reach == Reach::multicast_out ||
         reach == Reach::multicast_both || (reach == Reach::root_in_out && rank != root) ||
         ((reach == Reach::root_out || reach == Reach::in_root_out) && rank == root);
}

/// Whether the buffers of `rank` allow what `reach` asks for.
TUTTI_HD bool reachable(Reach reach, Place in, Place out, int rank, int root) {
  if (reach == Reach::nothing) return false;
  if (reads_in(reach, rank, root) && !in.mapped()) return false;
  if (writes_out(reach, rank, root) && !out.mapped()) return false;
  return reach != Reach::stable_in || in.bits != out.bits;
}

/// Whether `reach` asks for the switch.
TUTTI_HD bool asks_multicast(Reach reach) { return reach >= Reach::multicast_in; }

/// Whether the switch reaches all that `reach` asks for of this rank and of one whose buffers stand at `in` and `out`.
TUTTI_HD bool multicast_reachable(Reach reach, const Call& call, Place in, Place out) {
  if (!asks_multicast(reach)) return false;
  const bool reads = reach != Reach::multicast_out, writes = reach != Reach::multicast_in;
  if (reads && (!call.in_multicast || in.bits != call.in_place.bits)) return false;
  return !writes || (call.out_multicast && out.bits == call.out_place.bits);
}

/// What `enter` is asked for, and what it found on the ranks looked at so far.
struct Agreement {
  Reach pushing, pulling;
  bool pushes = true;
  bool pulls = true;
  bool multicasts = true;

  TUTTI_HD Agreement(Reach reach, Reach instead) : pushing(reach), pulling(instead) {}
  /// `call`: this rank's; `in`, `out` and `would_pull`: what `rank` said of its own.
  TUTTI_HD void look(const Call& call, Place in, Place out, bool would_pull, int rank) {
    pushes &= reachable(pushing, in, out, rank, call.peer);
    pulls &= would_pull && reachable(pulling, in, out, rank, call.peer);
    multicasts &= multicast_reachable(pushing, call, in, out);
  }
  TUTTI_HD Memory memory() const {
    if (pulls) return Memory::pulled;
    return !pushes ? Memory::staged : multicasts ? Memory::multicast : Memory::peer_mapped;
  }
  TUTTI_HD Reach granted() const { return pulls ? pulling : pushing; }
};

/// A message as its other end finds it: where that one's buffer is mapped here.
struct Offer {
  Memory memory = Memory::failed;
  char* there = nullptr;  ///< null if it is not mapped
};

// clang-format off
template <class B>
concept Block = std::derived_from<B, Connections> &&
    requires(B block, const Call& call, View view, Multicast multicast, const char* src, char* out, std::size_t n, Flags flags, Count k,
             const Reduction& reduction, Header* header, Place place, Region region, std::size_t stride, int to, int from) {
  // Copies `bytes` from src to every place of the view, in one pass. A place equals src or is disjoint from it.
  block.copy(view, src, n);
  // Place[i] = reduction over view's sources [i], in their order, i < n elements. A place equals a source or is disjoint.
  block.reduce(view, view, n, reduction);
  // The same through the switch, in whole units of 16 bytes, of what multicasts() says it can reduce.
  block.copy(multicast, src, n);
  block.reduce(multicast, multicast, n, reduction);
  block.reduce(view, multicast, n, reduction);

  // Publishes this rank's call and buffers to every peer, waits for theirs, compares, and resolves what Reach asks for:
  // the second one, if all ranks would rather pull and all its buffers are mapped; else the first.
  // An exchange between all: after it, every rank has entered this call, so has left the one before.
  { block.enter(call, Reach::in) } -> std::same_as<Memory>;
  { block.enter(call, Reach::out, Reach::in) } -> std::same_as<Memory>;
  // Signals all, waits for all: nobody reaches into this rank's buffers any more, nor this rank into theirs.
  block.leave();

  // Release: all earlier accesses of the block are visible to whoever sees count k (relative to the call's start).
  block.signal(flags, k);
  // Acquire: returns when the count of each of the flags is at least k (relative; k <= 0 means earlier calls).
  block.wait(flags, k);
  // At the end of a kernel: the connection's base moves on by the k signals that the call sent, or received.
  block.advance_sent(flags, k);
  block.advance_received(flags, k);
  block.advance_uses(region, k);

  // Small messages: data and tag together. Puts n elements at src + p * stride bytes into the packets of every peer p, or,
  // if `to` is a rank or kNobody, into that rank's alone, or into none; the others then get an empty message. The call's
  // description goes with them.
  block.put_packets(call, src, n, stride, to);
  // Waits for the packets of every peer, empty ones too, and copies the n elements that peer p sent to out + p * stride
  // bytes: of every peer, or, if `from` is a rank or kNobody, of it alone, or of none (the other peers' are empty). Nothing
  // for this rank itself.
  block.get_packets(call, out, n, stride, from);
  // out[i] = reduction over all ranks' packets in rank order, this rank's part taken from src; out may equal src.
  block.reduce_packets(call, out, src, n);
  // Clears every tag in this rank's own packets, both halves, of all senders; between two `leave`s.
  block.wipe_packets();

  // Writes the header of a message's slot, or an invitation, to be published by the next signal. `place`: of a buffer
  // that the other end may reach into, or none.
  block.offer(header, call, place);
  // Reads and compares it, after the wait for it.
  { block.accept(header, call) } -> std::same_as<Offer>;

  // Barrier of the block's threads.
  block.sync();
};
// clang-format on

}  // namespace tutti
