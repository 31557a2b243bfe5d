// The kernels by name, and the one place that maps the name to the function.
#pragma once
#include <array>
#include <cassert>
#include <type_traits>
#include <utility>

#include "kernels/all_to_all.hpp"
#include "kernels/barrier.hpp"
#include "kernels/broadcast.hpp"
#include "kernels/bruck.hpp"
#include "kernels/direct.hpp"
#include "kernels/doubling.hpp"
#include "kernels/gather.hpp"
#include "kernels/multicast.hpp"
#include "kernels/p2p.hpp"
#include "kernels/packets.hpp"
#include "kernels/reduce.hpp"
#include "kernels/ring.hpp"
#include "kernels/tree.hpp"

namespace tutti {

enum class Kernel : std::uint8_t {
  ring_all_reduce,
  ring_reduce_scatter,
  ring_all_gather,
  ring_broadcast,
  ring_reduce,
  two_shot_all_reduce,
  one_shot_all_reduce,
  direct_reduce_scatter,
  direct_all_gather,
  direct_broadcast,
  direct_reduce,
  direct_gather,
  direct_scatter,
  direct_all_to_all,
  packets_all_reduce,
  packets_reduce_scatter,
  packets_all_gather,
  packets_broadcast,
  packets_reduce,
  packets_gather,
  packets_scatter,
  packets_all_to_all,
  tree_all_reduce,
  tree_broadcast,
  tree_reduce,
  tree_gather,
  tree_scatter,
  recursive_doubling_all_reduce,
  halving_doubling_all_reduce,
  bruck_all_gather,
  pairwise_all_to_all,
  send,
  recv,
  barrier,
  dissemination_barrier,
  multicast_all_reduce,
  multicast_reduce_scatter,
  multicast_all_gather,
};
inline constexpr int kKernels = 38;

constexpr const char* name_of(Kernel kernel) {
  constexpr const char* names[kKernels] = {"ring_all_reduce",
                                           "ring_reduce_scatter",
                                           "ring_all_gather",
                                           "ring_broadcast",
                                           "ring_reduce",
                                           "two_shot_all_reduce",
                                           "one_shot_all_reduce",
                                           "direct_reduce_scatter",
                                           "direct_all_gather",
                                           "direct_broadcast",
                                           "direct_reduce",
                                           "direct_gather",
                                           "direct_scatter",
                                           "direct_all_to_all",
                                           "packets_all_reduce",
                                           "packets_reduce_scatter",
                                           "packets_all_gather",
                                           "packets_broadcast",
                                           "packets_reduce",
                                           "packets_gather",
                                           "packets_scatter",
                                           "packets_all_to_all",
                                           "tree_all_reduce",
                                           "tree_broadcast",
                                           "tree_reduce",
                                           "tree_gather",
                                           "tree_scatter",
                                           "recursive_doubling_all_reduce",
                                           "halving_doubling_all_reduce",
                                           "bruck_all_gather",
                                           "pairwise_all_to_all",
                                           "send",
                                           "recv",
                                           "barrier",
                                           "dissemination_barrier",
                                           "multicast_all_reduce",
                                           "multicast_reduce_scatter",
                                           "multicast_all_gather"};
  return names[static_cast<int>(kernel)];
}

constexpr bool by_packets(Kernel kernel) {
  return kernel >= Kernel::packets_all_reduce && kernel <= Kernel::packets_all_to_all;
}

/// Whether `kernel` asks for a switch that reduces and replicates.
constexpr bool by_multicast(Kernel kernel) {
  return kernel >= Kernel::multicast_all_reduce && kernel <= Kernel::multicast_all_gather;
}

/// Runs `kernel` for one block of one rank: a kernel known when the program is compiled, so that nothing of the others
/// is. Kernels are for two ranks or more: a rank has no connection with itself.
template <Kernel kernel, Block B>
TUTTI_KERNEL void run_kernel(B& block, const Call& call) {
  assert(block.size() >= 2);
  // clang-format off
  if constexpr (kernel == Kernel::ring_all_reduce) ring_all_reduce(block, call);
  else if constexpr (kernel == Kernel::ring_reduce_scatter) ring_reduce_scatter(block, call);
  else if constexpr (kernel == Kernel::ring_all_gather) ring_all_gather(block, call);
  else if constexpr (kernel == Kernel::ring_broadcast) ring_broadcast(block, call);
  else if constexpr (kernel == Kernel::ring_reduce) ring_reduce(block, call);
  else if constexpr (kernel == Kernel::two_shot_all_reduce) two_shot_all_reduce(block, call);
  else if constexpr (kernel == Kernel::one_shot_all_reduce) one_shot_all_reduce(block, call);
  else if constexpr (kernel == Kernel::direct_reduce_scatter) direct_reduce_scatter(block, call);
  else if constexpr (kernel == Kernel::direct_all_gather) direct_all_gather(block, call);
  else if constexpr (kernel == Kernel::direct_broadcast) direct_broadcast(block, call);
  else if constexpr (kernel == Kernel::direct_reduce) direct_reduce(block, call);
  else if constexpr (kernel == Kernel::direct_gather) direct_gather(block, call);
  else if constexpr (kernel == Kernel::direct_scatter) direct_scatter(block, call);
  else if constexpr (kernel == Kernel::direct_all_to_all) direct_all_to_all(block, call);
  else if constexpr (kernel == Kernel::packets_all_reduce) packets_all_reduce(block, call);
  else if constexpr (kernel == Kernel::packets_reduce_scatter) packets_reduce_scatter(block, call);
  else if constexpr (kernel == Kernel::packets_all_gather) packets_all_gather(block, call);
  else if constexpr (kernel == Kernel::packets_broadcast) packets_broadcast(block, call);
  else if constexpr (kernel == Kernel::packets_reduce) packets_reduce(block, call);
  else if constexpr (kernel == Kernel::packets_gather) packets_gather(block, call);
  else if constexpr (kernel == Kernel::packets_scatter) packets_scatter(block, call);
  else if constexpr (kernel == Kernel::packets_all_to_all) packets_all_to_all(block, call);
  else if constexpr (kernel == Kernel::tree_all_reduce) tree_all_reduce(block, call);
  else if constexpr (kernel == Kernel::tree_broadcast) tree_broadcast(block, call);
  else if constexpr (kernel == Kernel::tree_reduce) tree_reduce(block, call);
  else if constexpr (kernel == Kernel::tree_gather) tree_gather(block, call);
  else if constexpr (kernel == Kernel::tree_scatter) tree_scatter(block, call);
  else if constexpr (kernel == Kernel::recursive_doubling_all_reduce) recursive_doubling_all_reduce(block, call);
  else if constexpr (kernel == Kernel::halving_doubling_all_reduce) halving_doubling_all_reduce(block, call);
  else if constexpr (kernel == Kernel::bruck_all_gather) bruck_all_gather(block, call);
  else if constexpr (kernel == Kernel::pairwise_all_to_all) pairwise_all_to_all(block, call);
  else if constexpr (kernel == Kernel::send) send(block, call);
  else if constexpr (kernel == Kernel::recv) recv(block, call);
  else if constexpr (kernel == Kernel::barrier) barrier(block, call);
  else if constexpr (kernel == Kernel::dissemination_barrier) dissemination_barrier(block, call);
  else if constexpr (kernel == Kernel::multicast_all_reduce) multicast_all_reduce(block, call);
  else if constexpr (kernel == Kernel::multicast_reduce_scatter) multicast_reduce_scatter(block, call);
  else if constexpr (kernel == Kernel::multicast_all_gather) multicast_all_gather(block, call);
  else static_assert(sizeof(B) == 0, "a kernel has no line here");
  // clang-format on
}

/// The same of a kernel that is known when the program runs.
template <Block B>
void run_kernel(Kernel kernel, B& block, const Call& call) {
  using Run = void (*)(B&, const Call&);
  static constexpr auto runs = []<int... k>(std::integer_sequence<int, k...>) {
    return std::array<Run, kKernels>{[](B& b, const Call& c) { run_kernel<static_cast<Kernel>(k)>(b, c); }...};
  }
  (std::make_integer_sequence<int, kKernels>{});
  runs[static_cast<std::size_t>(kernel)](block, call);
}

/// What `kernel` costs n ranks; `bytes` of call.count elements. `mapped`: all buffers are, for the switch too.
/// `blocks`: of the call, for the double tree.
inline Cost cost_of(Kernel kernel, int n, double bytes, bool mapped, int blocks) {
  switch (kernel) {
    case Kernel::ring_all_reduce: return ring_all_reduce_cost(n, bytes);
    case Kernel::ring_reduce_scatter:
    case Kernel::ring_all_gather: return ring_half_cost(n, bytes);
    case Kernel::ring_broadcast: return ring_broadcast_cost(n, bytes);
    case Kernel::ring_reduce: return ring_reduce_cost(n, bytes);
    case Kernel::two_shot_all_reduce: return two_shot_all_reduce_cost(n, bytes, mapped);
    case Kernel::one_shot_all_reduce: return one_shot_all_reduce_cost(n, bytes);
    case Kernel::direct_reduce_scatter:
    case Kernel::direct_all_gather: return direct_half_cost(n, bytes);
    case Kernel::direct_broadcast: return direct_broadcast_cost(n, bytes);
    case Kernel::direct_reduce: return direct_reduce_cost(n, bytes, mapped);
    case Kernel::direct_gather:
    case Kernel::direct_scatter: return direct_gather_cost(n, bytes);
    case Kernel::direct_all_to_all: return direct_all_to_all_cost(n, bytes);
    case Kernel::packets_all_reduce:
    case Kernel::packets_reduce_scatter:
    case Kernel::packets_all_gather:
    case Kernel::packets_broadcast:
    case Kernel::packets_reduce:
    case Kernel::packets_gather:
    case Kernel::packets_scatter:
    case Kernel::packets_all_to_all: return packets_cost(n, bytes);
    case Kernel::tree_all_reduce: return tree_all_reduce_cost(n, bytes, blocks);
    case Kernel::tree_broadcast:
    case Kernel::tree_reduce: return rooted_tree_cost(n, bytes);
    case Kernel::tree_gather:
    case Kernel::tree_scatter: return tree_gather_cost(n, bytes);
    case Kernel::recursive_doubling_all_reduce: return recursive_doubling_all_reduce_cost(n, bytes);
    case Kernel::halving_doubling_all_reduce: return halving_doubling_all_reduce_cost(n, bytes);
    case Kernel::bruck_all_gather: return bruck_all_gather_cost(n, bytes);
    case Kernel::pairwise_all_to_all: return pairwise_all_to_all_cost(n, bytes);
    case Kernel::send:
    case Kernel::recv: return message_cost(bytes);
    case Kernel::barrier: return barrier_cost(n);
    case Kernel::dissemination_barrier: return dissemination_barrier_cost(n);
    case Kernel::multicast_all_reduce: return multicast_all_reduce_cost(n, bytes, mapped);
    case Kernel::multicast_reduce_scatter:
    case Kernel::multicast_all_gather: return multicast_half_cost(n, bytes, mapped);
  }
  return {};
}

}  // namespace tutti
