// One-shot all-reduce of small messages by packets: one exchange, no `enter`, any memory.
//
// Plan: put my data, tagged, into every peer's packets; poll theirs and reduce in rank order. 1 step, (n-1) S bytes
// sent. The region has two halves, taken in turn. Why no credit is needed: use u + 2 writes the half of use u only
// after this rank ended use u + 1, so had heard from every peer in it; each of them had ended use u, and read all of
// it. Before tags repeat, everyone wipes its region: the first `leave` says that earlier uses have ended everywhere,
// the second that all have wiped.
//
// Source: the LL protocol of NCCL (data and flag in one store), one-shot as in MSCCL++ and TensorRT-LLM.
// Example: n = 3. Rank 1 stores b to ranks 0 and 2, then sums a (from rank 0), its own b, c (from rank 2).
#pragma once
#include "kernels/block.hpp"
#include "kernels/chunks.hpp"

namespace tutti {

template <Block B>
TUTTI_KERNEL void packets_all_reduce(B& block, const Call& call) {
  const Range band = band_of(block, call, call.count);
  const std::size_t at = band.begin * call.element();
  if (block.packets_wrap()) {
    block.leave();
    block.wipe_packets();
    block.leave();
  }
  block.put_packets(call, call.in + at, band.size());
  block.reduce_packets(call, call.out + at, call.in + at, band.size());
  block.advance_uses(Region::packets, 1);
}

}  // namespace tutti
