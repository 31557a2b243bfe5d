// Small messages by packets: data and tag together, one exchange, no `enter`, any memory.
//
// Plan: put what each peer needs, tagged, into its packets; poll theirs; reduce in rank order, or copy. 1 step.
//   all-reduce, all-gather, broadcast   (n-1) S sent (by the root)       reduce, gather   (n-1) S received by the root
//   reduce-scatter, all-to-all          (n-1) S sent (S: one chunk)      scatter          (n-1) S sent by the root
// Ranks that have nothing for a peer send it an empty message. The region has two halves, taken in turn. Why no credit
// is needed: use u + 2 writes the half of use u only after this rank ended use u + 1, so had heard from every peer in
// it; each of them had ended use u, and read all of it. Before tags repeat, everyone wipes its region: the first
// `leave` says that earlier uses have ended everywhere, the second that all have wiped.
//
// Source: the LL protocol of NCCL (data and flag in one store), one-shot as in MSCCL++ and TensorRT-LLM.
// Example: n = 3, all-reduce. Rank 1 stores b to ranks 0 and 2, then sums a (from rank 0), its own b, c (from rank 2).
#pragma once
#include "kernels/block.hpp"
#include "kernels/chunks.hpp"
#include "kernels/cost.hpp"

namespace tutti {

/// Before the first use of tags that repeat.
template <Block B>
TUTTI_KERNEL void begin_packets(B& block) {
  if (!block.packets_wrap()) return;
  block.leave();
  block.wipe_packets();
  block.leave();
}

template <Block B>
TUTTI_KERNEL void packets_all_reduce(B& block, const Call& call) {
  const Range band = band_of(block, call, call.count);
  const std::size_t at = band.begin * call.element();
  begin_packets(block);
  block.put_packets(call, call.in + at, band.size(), 0, kAll);
  block.reduce_packets(call, call.out + at, call.in + at, band.size());
  block.advance_uses(Region::packets, 1);
}

template <Block B>
TUTTI_KERNEL void packets_reduce_scatter(B& block, const Call& call) {
  const Range band = band_of(block, call, call.count);
  const std::size_t at = band.begin * call.element(), stride = call.count * call.element();
  begin_packets(block);
  block.put_packets(call, call.in + at, band.size(), stride, kAll);
  block.reduce_packets(call, call.out + at, call.in + static_cast<std::size_t>(block.rank()) * stride + at,
                       band.size());
  block.advance_uses(Region::packets, 1);
}

template <Block B>
TUTTI_KERNEL void packets_reduce(B& block, const Call& call) {
  const Range band = band_of(block, call, call.count);
  const std::size_t at = band.begin * call.element();
  begin_packets(block);
  if (block.rank() == call.peer) {
    block.put_packets(call, call.in, 0, 0, kNobody);
    block.reduce_packets(call, call.out + at, call.in + at, band.size());
  } else {
    block.put_packets(call, call.in + at, band.size(), 0, call.peer);
    block.get_packets(call, call.out, 0, 0, kNobody);
  }
  block.advance_uses(Region::packets, 1);
}

/// What moves without being added: this rank sends to `to` and takes from `from` (kAll, kNobody or a rank) chunks that
/// are `from_stride` bytes apart in its input, `to_stride` in its output; its own it copies if `keeps_own`.
template <Block B>
TUTTI_KERNEL void packets_exchange(B& block, const Call& call, int to, std::size_t from_stride, int from,
                                   std::size_t to_stride, bool keeps_own) {
  const Range band = band_of(block, call, call.count);
  const std::size_t at = band.begin * call.element(), me = static_cast<std::size_t>(block.rank());
  begin_packets(block);
  block.put_packets(call, call.in ? call.in + at : nullptr, to == kNobody ? 0 : band.size(), from_stride, to);
  if (keeps_own)
    block.copy(one(call.out + me * to_stride + at), call.in + me * from_stride + at, band.size() * call.element());
  block.get_packets(call, call.out ? call.out + at : nullptr, from == kNobody ? 0 : band.size(), to_stride, from);
  block.advance_uses(Region::packets, 1);
}

template <Block B>
TUTTI_KERNEL void packets_all_gather(B& block, const Call& call) {
  packets_exchange(block, call, kAll, 0, kAll, call.count * call.element(), true);
}
template <Block B>
TUTTI_KERNEL void packets_all_to_all(B& block, const Call& call) {
  const std::size_t chunk = call.count * call.element();
  packets_exchange(block, call, kAll, chunk, kAll, chunk, true);
}
template <Block B>
TUTTI_KERNEL void packets_broadcast(B& block, const Call& call) {
  const bool root = block.rank() == call.peer;
  packets_exchange(block, call, root ? kAll : kNobody, 0, root ? kNobody : call.peer, 0, false);
}
template <Block B>
TUTTI_KERNEL void packets_gather(B& block, const Call& call) {
  const bool root = block.rank() == call.peer;
  packets_exchange(block, call, root ? kNobody : call.peer, 0, root ? kAll : kNobody, call.count * call.element(),
                   root);
}
template <Block B>
TUTTI_KERNEL void packets_scatter(B& block, const Call& call) {
  const bool root = block.rank() == call.peer;
  packets_exchange(block, call, root ? kAll : kNobody, call.count * call.element(), root ? kNobody : call.peer, 0,
                   root);
}

/// Any of them; `bytes` of call.count elements.
inline Cost packets_cost(int n, double bytes) { return {1, (n - 1) * bytes}; }

}  // namespace tutti
