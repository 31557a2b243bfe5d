#include "collectives/choose.hpp"

#include <fmt/format.h>

namespace tutti {
namespace {

/// The kernels, by the collective that they serve and the algorithm that they are.
struct Implementation {
  Collective collective;
  Algorithm algorithm;
  Kernel kernel;
};
constexpr Implementation kImplementations[] = {
    {Collective::all_reduce, Algorithm::packets, Kernel::packets_all_reduce},
    {Collective::all_reduce, Algorithm::one_shot, Kernel::one_shot_all_reduce},
    {Collective::all_reduce, Algorithm::two_shot, Kernel::two_shot_all_reduce},
    {Collective::all_reduce, Algorithm::ring, Kernel::ring_all_reduce},
    {Collective::all_reduce, Algorithm::tree, Kernel::tree_all_reduce},
    {Collective::all_reduce, Algorithm::recursive_doubling, Kernel::recursive_doubling_all_reduce},
    {Collective::all_reduce, Algorithm::halving_doubling, Kernel::halving_doubling_all_reduce},
    {Collective::reduce_scatter, Algorithm::packets, Kernel::packets_reduce_scatter},
    {Collective::reduce_scatter, Algorithm::direct, Kernel::direct_reduce_scatter},
    {Collective::reduce_scatter, Algorithm::ring, Kernel::ring_reduce_scatter},
    {Collective::all_gather, Algorithm::packets, Kernel::packets_all_gather},
    {Collective::all_gather, Algorithm::direct, Kernel::direct_all_gather},
    {Collective::all_gather, Algorithm::ring, Kernel::ring_all_gather},
    {Collective::all_gather, Algorithm::bruck, Kernel::bruck_all_gather},
    {Collective::broadcast, Algorithm::packets, Kernel::packets_broadcast},
    {Collective::broadcast, Algorithm::direct, Kernel::direct_broadcast},
    {Collective::broadcast, Algorithm::ring, Kernel::ring_broadcast},
    {Collective::broadcast, Algorithm::tree, Kernel::tree_broadcast},
    {Collective::reduce, Algorithm::packets, Kernel::packets_reduce},
    {Collective::reduce, Algorithm::direct, Kernel::direct_reduce},
    {Collective::reduce, Algorithm::ring, Kernel::ring_reduce},
    {Collective::reduce, Algorithm::tree, Kernel::tree_reduce},
    {Collective::gather, Algorithm::packets, Kernel::packets_gather},
    {Collective::gather, Algorithm::direct, Kernel::direct_gather},
    {Collective::gather, Algorithm::tree, Kernel::tree_gather},
    {Collective::scatter, Algorithm::packets, Kernel::packets_scatter},
    {Collective::scatter, Algorithm::direct, Kernel::direct_scatter},
    {Collective::scatter, Algorithm::tree, Kernel::tree_scatter},
    {Collective::all_to_all, Algorithm::packets, Kernel::packets_all_to_all},
    {Collective::all_to_all, Algorithm::direct, Kernel::direct_all_to_all},
    {Collective::all_to_all, Algorithm::pairwise, Kernel::pairwise_all_to_all},
    {Collective::send, Algorithm::direct, Kernel::send},
    {Collective::recv, Algorithm::direct, Kernel::recv},
    {Collective::barrier, Algorithm::direct, Kernel::barrier},
    {Collective::barrier, Algorithm::dissemination, Kernel::dissemination_barrier},
};

const Implementation* implementation_of(Collective collective, Algorithm algorithm) {
  for (const Implementation& each : kImplementations)
    if (each.collective == collective && each.algorithm == algorithm) return &each;
  return nullptr;
}

[[noreturn]] void refuse(const Request& request, const std::string& why) {
  throw Error(ErrorCode::unsupported,
              fmt::format("{}: algorithm {} {}", name_of(request.collective), name_of(request.algorithm), why));
}

/// Whether every element is reduced at once, over all ranks in their order.
bool in_rank_order(Algorithm algorithm) {
  return algorithm == Algorithm::packets || algorithm == Algorithm::one_shot || algorithm == Algorithm::two_shot ||
         algorithm == Algorithm::direct;
}

/// avg of these sums in a wider type and divides once, so no rank may pass on a rounded partial sum.
bool averages_in_one_step(const Request& request) {
  return request.op == ReduceOp::avg && request.type != DataType::f32 && request.type != DataType::f64;
}

/// For an algorithm that was asked for: `automatic` picks none that this would refuse.
void check_order(const Request& request, bool deterministic) {
  if (!request.reduces() || request.algorithm == Algorithm::automatic || in_rank_order(request.algorithm)) return;
  if (averages_in_one_step(request))
    refuse(request, fmt::format("cannot average {}: it would round at each hop; use {}", name_of(request.type),
                                request.collective == Collective::all_reduce ? "one_shot or two_shot" : "direct"));
  if (deterministic) refuse(request, "does not reduce in rank order, which this deterministic communicator asks for");
}

Algorithm automatic(const Request& request, const Geometry& geometry, std::string_view* reason) {
  const bool reduces_all = request.collective == Collective::all_reduce;
  if (request.is_message() || request.collective == Collective::barrier) {
    *reason = request.is_message() ? "the only one" : "one exchange between all";
    return Algorithm::direct;
  }
  // Two ranks: above 4 KiB the two-shot's exchanges cost less than copying packets twice (1.5 to 2.6 times, measured).
  const std::size_t most = geometry.ranks == 2 ? geometry.packet_bytes / 2 : geometry.packet_bytes;
  if (request.bytes() <= most) {
    *reason = "small: one exchange of packets";
    return Algorithm::packets;
  }
  *reason = reduces_all ? "beyond packets: two direct exchanges move least"
                        : "beyond packets: one direct exchange has the fewest steps";
  return reduces_all ? Algorithm::two_shot : Algorithm::direct;
}

}  // namespace

Plan choose(const Request& request, const Geometry& geometry, bool deterministic) {
  std::string_view reason = "asked for";
  const Algorithm algorithm =
      request.algorithm == Algorithm::automatic ? automatic(request, geometry, &reason) : request.algorithm;
  const Implementation* const found = implementation_of(request.collective, algorithm);
  if (!found) refuse(request, fmt::format("does not exist; there are auto, {}", algorithms_of(request.collective)));
  if (request.algorithm == Algorithm::packets && request.bytes() > geometry.packet_bytes)
    refuse(request, fmt::format("carries at most {} bytes a message, this call has {}; use another",
                                geometry.packet_bytes, request.bytes()));
  check_order(request, deterministic);
  return {found->kernel, algorithm, reason};
}

std::string algorithms_of(Collective collective) {
  std::string names;
  for (const Implementation& each : kImplementations)
    if (each.collective == collective) names.append(names.empty() ? "" : ", ").append(name_of(each.algorithm));
  return names;
}

Choice choice_of(const Request& request, const Plan& plan, int ranks, int blocks) {
  Choice choice{.algorithm = plan.algorithm, .reason = std::string(plan.reason)};
  if (ranks == 1) return choice;
  const Cost cost = cost_of(plan.kernel, ranks, static_cast<double>(request.bytes()), true, blocks);
  choice.steps = cost.steps;
  choice.wire_bytes = cost.bytes;
  return choice;
}

Description describe(const Request& request, const Plan& plan, int blocks) {
  return describe(static_cast<int>(request.is_message() ? Collective::send : request.collective),
                  static_cast<int>(plan.algorithm), request.type, request.reduces() ? request.op : ReduceOp::sum,
                  request.is_rooted() ? request.peer : -1, blocks);
}

std::string to_string(Description description, std::uint64_t elements) {
  const auto byte = [&](int at) { return static_cast<int>(description >> at & 0xff); };
  const Request request{.collective = static_cast<Collective>(byte(0))};
  std::string text = name_of(request.collective);
  const std::string by = fmt::format(", by {}", name_of(static_cast<Algorithm>(byte(8))));
  if (request.collective == Collective::barrier) return text + by;
  text += fmt::format(" {}", name_of(static_cast<DataType>(byte(16))));
  if (request.reduces()) text += fmt::format(" {}", name_of(static_cast<ReduceOp>(byte(24))));
  if (request.is_rooted())
    text += fmt::format(
        " {} root {}",
        request.collective == Collective::reduce || request.collective == Collective::gather ? "to" : "from",
        static_cast<int>(description >> 32 & 0xffff) - 1);
  text += fmt::format(", {} elements", elements);
  if (!request.is_message()) text += by;
  return text;
}

}  // namespace tutti
