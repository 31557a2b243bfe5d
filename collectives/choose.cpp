#include "collectives/choose.hpp"

#include <fmt/format.h>

namespace tutti {
namespace {

/// avg of these sums in a wider type and divides once, so no rank may pass on a rounded partial sum.
bool averages_in_one_step(const Request& request) {
  return request.op == ReduceOp::avg && request.type != DataType::f32 && request.type != DataType::f64;
}

[[noreturn]] void refuse(const Request& request, const std::string& why) {
  throw Error(ErrorCode::unsupported,
              fmt::format("{}: algorithm {} {}", name_of(request.collective), name_of(request.algorithm), why));
}

void check_ring(const Request& request, bool deterministic) {
  if (averages_in_one_step(request))
    refuse(request, fmt::format("cannot average {}: it would round at each hop; use one_shot, two_shot or direct",
                                name_of(request.type)));
  if (deterministic) refuse(request, "does not reduce in rank order, which this deterministic communicator asks for");
}

Plan choose_all_reduce(const Request& request, const Geometry& geometry, bool deterministic) {
  const std::size_t bytes = request.bytes();
  // Two ranks: above 4 KiB the two-shot's exchanges cost less than copying packets twice (1.5 to 2.6 times, measured).
  const bool packets = bytes <= (geometry.ranks == 2 ? geometry.packet_bytes / 2 : geometry.packet_bytes);
  switch (request.algorithm) {
    case Algorithm::automatic:
      if (packets) return {Kernel::packets_all_reduce, Algorithm::one_shot, "small: one exchange of packets"};
      return {Kernel::two_shot_all_reduce, Algorithm::two_shot, "beyond packets: two direct exchanges move least"};
    case Algorithm::ring:
      check_ring(request, deterministic);
      return {Kernel::ring_all_reduce, Algorithm::ring, "asked for"};
    case Algorithm::one_shot:
      if (packets) return {Kernel::packets_all_reduce, Algorithm::one_shot, "asked for; small enough for packets"};
      return {Kernel::one_shot_all_reduce, Algorithm::one_shot, "asked for"};
    case Algorithm::two_shot: return {Kernel::two_shot_all_reduce, Algorithm::two_shot, "asked for"};
    default: refuse(request, "does not exist; there are auto, ring, one_shot and two_shot");
  }
}

Plan choose_direct_or_ring(const Request& request, bool deterministic, Kernel direct, Kernel ring) {
  switch (request.algorithm) {
    case Algorithm::automatic: return {direct, Algorithm::direct, "one direct exchange moves least"};
    case Algorithm::direct: return {direct, Algorithm::direct, "asked for"};
    case Algorithm::ring:
      if (request.collective == Collective::reduce_scatter) check_ring(request, deterministic);
      return {ring, Algorithm::ring, "asked for"};
    default: refuse(request, "does not exist; there are auto, direct and ring");
  }
}

}  // namespace

Plan choose(const Request& request, const Geometry& geometry, bool deterministic) {
  switch (request.collective) {
    case Collective::all_reduce: return choose_all_reduce(request, geometry, deterministic);
    case Collective::reduce_scatter:
      return choose_direct_or_ring(request, deterministic, Kernel::direct_reduce_scatter, Kernel::ring_reduce_scatter);
    case Collective::all_gather:
      return choose_direct_or_ring(request, deterministic, Kernel::direct_all_gather, Kernel::ring_all_gather);
    default: break;
  }
  if (request.algorithm != Algorithm::automatic && request.algorithm != Algorithm::direct)
    refuse(request, "does not exist; there are auto and direct");
  const std::string_view reason = request.algorithm == Algorithm::direct ? "asked for" : "the only one";
  switch (request.collective) {
    case Collective::broadcast: return {Kernel::direct_broadcast, Algorithm::direct, reason};
    case Collective::send: return {Kernel::send, Algorithm::direct, reason};
    case Collective::recv: return {Kernel::recv, Algorithm::direct, reason};
    default: return {Kernel::barrier, Algorithm::direct, reason};
  }
}

Description describe(const Request& request, const Plan& plan, int blocks) {
  const bool reduces = request.collective == Collective::all_reduce || request.collective == Collective::reduce_scatter;
  return describe(static_cast<int>(request.is_message() ? Collective::send : request.collective),
                  static_cast<int>(plan.algorithm), request.type, reduces ? request.op : ReduceOp::sum,
                  request.collective == Collective::broadcast ? request.peer : -1, blocks);
}

std::string to_string(Description description, std::uint64_t elements) {
  const auto byte = [&](int at) { return static_cast<int>(description >> at & 0xff); };
  const auto collective = static_cast<Collective>(byte(0));
  std::string text = name_of(collective);
  if (collective == Collective::barrier) return text;
  text += fmt::format(" {}", name_of(static_cast<DataType>(byte(16))));
  if (collective == Collective::all_reduce || collective == Collective::reduce_scatter)
    text += fmt::format(" {}", name_of(static_cast<ReduceOp>(byte(24))));
  if (collective == Collective::broadcast)
    text += fmt::format(" from root {}", static_cast<int>(description >> 32 & 0xffff) - 1);
  text += fmt::format(", {} elements", elements);
  if (collective != Collective::send) text += fmt::format(", by {}", name_of(static_cast<Algorithm>(byte(8))));
  return text;
}

}  // namespace tutti
