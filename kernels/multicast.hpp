// Algorithms through a switch that reduces what it loads from all ranks, and replicates what it stores to them
// (NVSwitch).
//
// Plan, per rank, S bytes, n ranks; x is one exchange of flags among all; each way through the rank's port:
//   all-reduce       my chunk of everyone's input, reduced by the switch, into everyone's output    2x   (1 + 1/n) S
//   reduce-scatter   my chunk of everyone's input, reduced by the switch, into my output            2x   n S, S: one
//   chunk all-gather       my chunk into everyone's output, replicated by the switch                      2x   n S, S:
//   one chunk
//
// The switch moves whole units of 16 bytes of buffers that stand at the same place on every rank; what is loose at the
// ends of a band goes as in the direct algorithms, and so does all of a call whose buffers the switch does not reach.
// The order in which it reduces is not promised: sums of floats may differ from run to run, but not from rank to rank.
//
// Source: PyTorch's and MSCCL++'s kernels by multimem instructions; NCCL's NVLS.
// Example: n = 3, all-reduce on [a0 a1 a2] [b0 b1 b2] [c0 c1 c2]. Rank 1 loads a1+b1+c1, one chunk, and stores it once;
// the switch has loaded three chunks, and stores three.
#pragma once
#include "kernels/direct.hpp"

namespace tutti {

/// The whole units of 16 bytes among elements [begin, end) of a buffer that stands at a multiple of 16.
TUTTI_HD Range whole_units(const Call& call, Range elements) {
  const std::size_t unit = 16 / call.element();
  const std::size_t begin = smaller(ceil_div(elements.begin, unit) * unit, elements.end),
                    end = elements.end / unit * unit;
  return {begin, end < begin ? begin : end};
}

/// Runs f for what `whole` leaves of `elements`: before it, and after it.
template <class F>
TUTTI_KERNEL void for_ends(Range elements, Range whole, F f) {
  for (int end = 0; end < 2; ++end) f(end == 0 ? Range{elements.begin, whole.begin} : Range{whole.end, elements.end});
}

template <Block B>
TUTTI_KERNEL void multicast_all_reduce(B& block, const Call& call) {
  const Memory memory = block.enter(call, Reach::multicast_both);
  if (memory != Memory::multicast) return two_shot_all_reduce(block, call, memory);
  const std::size_t width = call.element();
  const Range mine = Chunks(block, call, true, block.slot_bytes()).band(block.rank());
  const Range whole = whole_units(call, mine);
  const std::size_t at = whole.begin * width;
  block.reduce(block.multicast_out(call, at), block.multicast_in(call, at), whole.size(), call.reduction);
  for_ends(mine, whole, [&](Range loose) {
    block.reduce(block.all_out(loose.begin * width), block.all_in(loose.begin * width), loose.size(), call.reduction);
  });
  block.leave();
}

template <Block B>
TUTTI_KERNEL void multicast_reduce_scatter(B& block, const Call& call) {
  const Memory memory = block.enter(call, Reach::multicast_in);
  if (memory != Memory::multicast) return direct_reduce_scatter(block, call, memory);
  const std::size_t width = call.element();
  const Chunks chunks(block, call, false, block.slot_bytes());
  const Range mine = chunks.band(block.rank());
  const Range whole = whole_units(call, mine);
  const auto out_at = [&](std::size_t element) {
    return one(call.out + (element - chunks.chunk_of(block.rank()).begin) * width);
  };
  block.reduce(out_at(whole.begin), block.multicast_in(call, whole.begin * width), whole.size(), call.reduction);
  for_ends(mine, whole, [&](Range loose) {
    block.reduce(out_at(loose.begin), block.all_in(loose.begin * width), loose.size(), call.reduction);
  });
  block.leave();
}

template <Block B>
TUTTI_KERNEL void multicast_all_gather(B& block, const Call& call) {
  const Memory memory = block.enter(call, Reach::multicast_out);
  if (memory != Memory::multicast) return direct_all_gather(block, call, memory);
  const std::size_t width = call.element();
  const Chunks chunks(block, call, false, block.slot_bytes());
  const Range mine = chunks.band(block.rank());
  const Range whole = whole_units(call, mine);
  const auto in_at = [&](std::size_t element) {
    return call.in + (element - chunks.chunk_of(block.rank()).begin) * width;
  };
  block.copy(block.multicast_out(call, whole.begin * width), in_at(whole.begin), whole.size() * width);
  for_ends(mine, whole, [&](Range loose) {
    block.copy(block.all_out(loose.begin * width), in_at(loose.begin), loose.size() * width);
  });
  block.leave();
}

inline Cost multicast_all_reduce_cost(int n, double bytes, bool mapped) {
  return mapped ? Cost{2, (n + 1) * bytes / n} : two_shot_all_reduce_cost(n, bytes, mapped);
}
/// Reduce-scatter or all-gather; `bytes` of one chunk.
inline Cost multicast_half_cost(int n, double bytes, bool mapped) {
  return mapped ? Cost{2, n * bytes} : direct_half_cost(n, bytes);
}

}  // namespace tutti
