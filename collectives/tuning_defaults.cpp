// The constants that are compiled in.
#include "collectives/tuning.hpp"

namespace tutti {
namespace {

struct Default {
  Kernel kernel;
  std::array<double, kTerms> constants;  ///< nanoseconds: base, step, peer, wire, byte, beyond
};

// Estimates: exchanges of 250 ns and bytes at 10 GB/s, halved for algorithms of one exchange.
constexpr Default kCpu[] = {
    {Kernel::packets_all_reduce, {50, 50, 100, 0.5, 0, 0}},
    {Kernel::one_shot_all_reduce, {100, 300, 100, 0.06, 0.06, 0.1}},
    {Kernel::two_shot_all_reduce, {300, 400, 100, 0.05, 0.05, 0.1}},
    {Kernel::ring_all_reduce, {300, 600, 50, 0.06, 0.06, 0.1}},
    {Kernel::tree_all_reduce, {1000, 800, 50, 0.1, 0.1, 0.2}},
    {Kernel::recursive_doubling_all_reduce, {300, 600, 50, 0.06, 0.06, 0.2}},
    {Kernel::halving_doubling_all_reduce, {300, 600, 50, 0.06, 0.06, 0.2}},
    {Kernel::packets_reduce_scatter, {50, 50, 100, 0.5, 0, 0}},
    {Kernel::direct_reduce_scatter, {300, 300, 100, 0.05, 0.05, 0.1}},
    {Kernel::ring_reduce_scatter, {300, 600, 50, 0.06, 0.06, 0.1}},
    {Kernel::packets_all_gather, {50, 50, 100, 0.5, 0, 0}},
    {Kernel::direct_all_gather, {300, 300, 100, 0.05, 0.05, 0.1}},
    {Kernel::ring_all_gather, {300, 600, 50, 0.06, 0.06, 0.1}},
    {Kernel::bruck_all_gather, {300, 600, 50, 0.08, 0.08, 0.2}},
    {Kernel::packets_broadcast, {50, 50, 100, 0.5, 0, 0}},
    {Kernel::direct_broadcast, {300, 300, 100, 0.05, 0.05, 0.1}},
    {Kernel::ring_broadcast, {300, 600, 50, 0.06, 0.06, 0.1}},
    {Kernel::tree_broadcast, {300, 600, 50, 0.06, 0.06, 0.1}},
    {Kernel::packets_reduce, {50, 50, 100, 0.5, 0, 0}},
    {Kernel::direct_reduce, {300, 300, 100, 0.05, 0.05, 0.1}},
    {Kernel::ring_reduce, {300, 600, 50, 0.06, 0.06, 0.1}},
    {Kernel::tree_reduce, {300, 600, 50, 0.06, 0.06, 0.1}},
    {Kernel::packets_gather, {50, 50, 100, 0.5, 0, 0}},
    {Kernel::direct_gather, {300, 300, 100, 0.05, 0.05, 0.1}},
    {Kernel::tree_gather, {300, 600, 50, 0.06, 0.06, 0.1}},
    {Kernel::packets_scatter, {50, 50, 100, 0.5, 0, 0}},
    {Kernel::direct_scatter, {300, 300, 100, 0.05, 0.05, 0.1}},
    {Kernel::tree_scatter, {300, 600, 50, 0.06, 0.06, 0.1}},
    {Kernel::packets_all_to_all, {50, 50, 100, 0.5, 0, 0}},
    {Kernel::direct_all_to_all, {300, 300, 100, 0.05, 0.05, 0.1}},
    {Kernel::pairwise_all_to_all, {300, 600, 50, 0.05, 0.05, 0.1}},
    {Kernel::send, {200, 100, 0, 0.05, 0, 0}},
    {Kernel::recv, {200, 100, 0, 0.05, 0, 0}},
    {Kernel::barrier, {50, 250, 20, 0, 0, 0}},
    {Kernel::dissemination_barrier, {50, 260, 0, 0, 0, 0}},
};

template <std::size_t n>
Tuning tuning_of(const Default (&defaults)[n], double cache, const char* origin) {
  Tuning tuning;
  for (const Default& each : defaults) tuning.of(each.kernel) = {each.constants, true};
  tuning.cache = cache;
  set_origin(tuning, origin);
  return tuning;
}

}  // namespace

Tuning default_tuning(bool on_gpu, bool) {
  return tuning_of(kCpu, 1 << 20, on_gpu ? "defaults for GPUs" : "defaults for CPUs");
}

}  // namespace tutti
