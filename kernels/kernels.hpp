// The kernels by name, and the one place that maps the name to the function.
#pragma once
#include <cassert>

#include "kernels/barrier.hpp"
#include "kernels/broadcast.hpp"
#include "kernels/direct.hpp"
#include "kernels/p2p.hpp"
#include "kernels/packets.hpp"
#include "kernels/ring.hpp"

namespace tutti {

enum class Kernel : std::uint8_t {
  ring_all_reduce,
  ring_reduce_scatter,
  ring_all_gather,
  two_shot_all_reduce,
  one_shot_all_reduce,
  packets_all_reduce,
  direct_reduce_scatter,
  direct_all_gather,
  direct_broadcast,
  send,
  recv,
  barrier,
};
inline constexpr int kKernels = 12;

constexpr const char* name_of(Kernel kernel) {
  constexpr const char* names[kKernels] = {"ring_all_reduce",
                                           "ring_reduce_scatter",
                                           "ring_all_gather",
                                           "two_shot_all_reduce",
                                           "one_shot_all_reduce",
                                           "packets_all_reduce",
                                           "direct_reduce_scatter",
                                           "direct_all_gather",
                                           "direct_broadcast",
                                           "send",
                                           "recv",
                                           "barrier"};
  return names[static_cast<int>(kernel)];
}

/// Runs `kernel` for one block of one rank. Kernels are for two ranks or more: a rank has no connection with itself.
template <Block B>
TUTTI_KERNEL void run_kernel(Kernel kernel, B& block, const Call& call) {
  assert(block.size() >= 2);
  switch (kernel) {
    case Kernel::ring_all_reduce: return ring_all_reduce(block, call);
    case Kernel::ring_reduce_scatter: return ring_reduce_scatter(block, call);
    case Kernel::ring_all_gather: return ring_all_gather(block, call);
    case Kernel::two_shot_all_reduce: return two_shot_all_reduce(block, call);
    case Kernel::one_shot_all_reduce: return one_shot_all_reduce(block, call);
    case Kernel::packets_all_reduce: return packets_all_reduce(block, call);
    case Kernel::direct_reduce_scatter: return direct_reduce_scatter(block, call);
    case Kernel::direct_all_gather: return direct_all_gather(block, call);
    case Kernel::direct_broadcast: return direct_broadcast(block, call);
    case Kernel::send: return send(block, call);
    case Kernel::recv: return recv(block, call);
    case Kernel::barrier: return barrier(block, call);
  }
}

}  // namespace tutti
