#include "collectives/choose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace tutti {
namespace {

/// Those of a collective stand together.
constexpr Implementation kImplementations[] = {
    {Collective::all_reduce, Algorithm::packets, Kernel::packets_all_reduce},
    {Collective::all_reduce, Algorithm::one_shot, Kernel::one_shot_all_reduce},
    {Collective::all_reduce, Algorithm::two_shot, Kernel::two_shot_all_reduce},
    {Collective::all_reduce, Algorithm::ring, Kernel::ring_all_reduce},
    {Collective::all_reduce, Algorithm::tree, Kernel::tree_all_reduce},
    {Collective::all_reduce, Algorithm::recursive_doubling, Kernel::recursive_doubling_all_reduce},
    {Collective::all_reduce, Algorithm::halving_doubling, Kernel::halving_doubling_all_reduce},
    {Collective::all_reduce, Algorithm::multicast, Kernel::multicast_all_reduce},
    {Collective::reduce_scatter, Algorithm::packets, Kernel::packets_reduce_scatter},
    {Collective::reduce_scatter, Algorithm::direct, Kernel::direct_reduce_scatter},
    {Collective::reduce_scatter, Algorithm::ring, Kernel::ring_reduce_scatter},
    {Collective::reduce_scatter, Algorithm::multicast, Kernel::multicast_reduce_scatter},
    {Collective::all_gather, Algorithm::packets, Kernel::packets_all_gather},
    {Collective::all_gather, Algorithm::direct, Kernel::direct_all_gather},
    {Collective::all_gather, Algorithm::ring, Kernel::ring_all_gather},
    {Collective::all_gather, Algorithm::bruck, Kernel::bruck_all_gather},
    {Collective::all_gather, Algorithm::multicast, Kernel::multicast_all_gather},
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

constexpr std::size_t kCount = std::size(kImplementations);

/// Where those of a collective begin and end.
struct Range {
  std::size_t begin = 0, end = 0;
};
constexpr auto kRanges = [] {
  std::array<Range, kCollectives> ranges{};
  for (std::size_t i = 0; i < kCount; ++i) {
    Range& range = ranges[static_cast<std::size_t>(kImplementations[i].collective)];
    if (range.end == 0) range.begin = i;
    range.end = i + 1;
  }
  return ranges;
}();
static_assert([] {
  std::size_t all = 0;
  for (const Range& range : kRanges) all += range.end - range.begin;
  return all == kCount;
}());

std::span<const Implementation> implementations_of(Collective collective) {
  const Range& range = kRanges[static_cast<std::size_t>(collective)];
  return {kImplementations + range.begin, range.end - range.begin};
}

[[noreturn]] void refuse(const Request& request, const std::string& why) {
  throw Error(ErrorCode::unsupported,
              fmt::format("{}: algorithm {} {}", name_of(request.collective), name_of(request.algorithm), why));
}

/// Whether every element is reduced at once, over all ranks in their order.
bool reduces_in_rank_order(Algorithm algorithm) {
  return algorithm == Algorithm::packets || algorithm == Algorithm::one_shot || algorithm == Algorithm::two_shot ||
         algorithm == Algorithm::direct;
}

/// avg of these sums in a wider type and divides once, so no rank may pass on a rounded partial sum.
bool averages_in_one_step(const Request& request) {
  return request.op == ReduceOp::avg && request.type != DataType::f32 && request.type != DataType::f64;
}

/// Whether the switch reduces as the request asks, but for the order.
bool switch_serves(const Request& request) {
  if (!request.reduces()) return true;
  const bool average = request.op == ReduceOp::avg;
  return multicasts({request.type, average ? ReduceOp::sum : request.op, average ? 2u : 1u});
}

/// For an algorithm that was asked for.
void check_multicast(const Request& request, bool has_multicast) {
  if (!has_multicast)
    refuse(request, fmt::format("needs multicast, which this machine has not; there are auto, {}",
                                algorithms_of(request.collective)));
  if (!switch_serves(request))
    refuse(request,
           fmt::format("cannot take {} of {}: the switch does not; use {}", name_of(request.op), name_of(request.type),
                       request.collective == Collective::all_reduce ? "two_shot" : "direct"));
}
void check_order(const Request& request, bool deterministic) {
  if (!request.reduces() || reduces_in_rank_order(request.algorithm)) return;
  if (averages_in_one_step(request))
    refuse(request, fmt::format("cannot average {}: it would round at each hop; use {}", name_of(request.type),
                                request.collective == Collective::all_reduce ? "one_shot or two_shot" : "direct"));
  if (deterministic) refuse(request, "does not reduce in rank order, which this deterministic communicator asks for");
}

/// "12.3 us"
std::string duration(double nanoseconds) {
  if (nanoseconds < 1e3) return fmt::format("{:.0f} ns", nanoseconds);
  return nanoseconds < 1e6 ? fmt::format("{:.3g} us", nanoseconds * 1e-3)
                           : fmt::format("{:.3g} ms", nanoseconds * 1e-6);
}

}  // namespace

std::span<const Implementation> implementations() { return kImplementations; }

const Implementation* implementation_of(Collective collective, Algorithm algorithm) {
  for (const Implementation& each : implementations_of(collective))
    if (each.algorithm == algorithm) return &each;
  return nullptr;
}

bool in_rank_order(const Implementation& implementation) {
  return !Request{.collective = implementation.collective}.reduces() || reduces_in_rank_order(implementation.algorithm);
}

Quantities quantities_of(const Implementation& implementation, int ranks, double bytes, int blocks) {
  const Cost cost = cost_of(implementation.kernel, ranks, bytes, true, blocks);
  return {.steps = static_cast<double>(cost.steps), .peers = ranks - 1.0, .bytes = in_ranges(cost.bytes)};
}

Chooser::Chooser(const Geometry& geometry, bool deterministic, const Tuning& tuning)
    : ranks_(geometry.ranks),
      packet_bytes_(geometry.packet_bytes),
      deterministic_(deterministic),
      origin_(tuning.origin) {
  if (ranks_ < 2) return;
  for (const Implementation& each : kImplementations) {
    const Formula& formula = tuning.of(each.kernel);
    if (!formula.known) continue;
    // Steps are the same, and bytes in proportion, for calls of any size.
    constexpr double kSome = 1 << 20;
    Line& line = lines_[static_cast<std::size_t>(each.kernel)];
    line.fixed = tutti::nanoseconds(formula, quantities_of(each, ranks_, 0, geometry.blocks));
    line.wire = cost_of(each.kernel, ranks_, kSome, true, geometry.blocks).bytes / kSome;
    line.byte = formula.byte;
  }
}

double Chooser::nanoseconds(const Implementation& of, const Request& request) const {
  const Line& line = lines_[static_cast<std::size_t>(of.kernel)];
  const std::array<double, kByteRanges> bytes = in_ranges(line.wire * static_cast<double>(request.bytes()));
  double sum = line.fixed;
  for (std::size_t i = 0; i < bytes.size(); ++i) sum += line.byte[i] * bytes[i];
  return sum;
}

bool Chooser::may_serve(const Implementation& of, const Request& request) const {
  if (of.algorithm == Algorithm::packets && request.bytes() > packet_bytes_) return false;
  if (of.algorithm == Algorithm::multicast && !(multicast_ && switch_serves(request))) return false;
  return in_rank_order(of) || (!deterministic_ && !averages_in_one_step(request));
}

const Implementation* Chooser::fastest(const Request& request, Algorithm except) const {
  const Implementation* best = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const Implementation& each : implementations_of(request.collective)) {
    if (each.algorithm == except || !may_serve(each, request)) continue;
    const double its = nanoseconds(each, request);
    if (its >= least) continue;
    best = &each;
    least = its;
  }
  return best;
}

Plan choose(const Request& request, const Chooser& chooser) {
  if (request.algorithm == Algorithm::automatic) {
    if (const Implementation* const best = chooser.fastest(request))
      return {best->kernel, best->algorithm, request.is_message() ? "the only one" : "least time by its formula"};
    for (const Implementation& each : implementations_of(request.collective))
      if (each.algorithm != Algorithm::packets && in_rank_order(each))
        return {each.kernel, each.algorithm, "serves every call"};
  }
  const Implementation* const found = implementation_of(request.collective, request.algorithm);
  if (!found) refuse(request, fmt::format("does not exist; there are auto, {}", algorithms_of(request.collective)));
  if (request.algorithm == Algorithm::packets && request.bytes() > chooser.packet_bytes())
    refuse(request, fmt::format("carries at most {} bytes a message, this call has {}; use another",
                                chooser.packet_bytes(), request.bytes()));
  if (request.algorithm == Algorithm::multicast) check_multicast(request, chooser.multicast());
  check_order(request, chooser.deterministic());
  return {found->kernel, found->algorithm, "asked for"};
}

std::string algorithms_of(Collective collective) {
  std::string names;
  for (const Implementation& each : implementations_of(collective))
    if (each.algorithm != Algorithm::multicast) names.append(names.empty() ? "" : ", ").append(name_of(each.algorithm));
  return names;
}

Choice choice_of(const Request& request, const Plan& plan, const Chooser& chooser, int blocks) {
  Choice choice{.algorithm = plan.algorithm, .reason = std::string(plan.reason), .constants = chooser.origin()};
  if (chooser.ranks() == 1) return choice;
  const Cost cost = cost_of(plan.kernel, chooser.ranks(), static_cast<double>(request.bytes()), true, blocks);
  choice.steps = cost.steps;
  choice.wire_bytes = cost.bytes;
  const Implementation* const taken = implementation_of(request.collective, plan.algorithm);
  const double nanoseconds = chooser.nanoseconds(*taken, request);
  if (!std::isfinite(nanoseconds)) return choice;
  choice.seconds = nanoseconds * 1e-9;
  choice.reason += fmt::format(", {}", duration(nanoseconds));
  const Implementation* const next = chooser.fastest(request, plan.algorithm);
  if (!next) return choice;
  choice.runner_up = next->algorithm;
  choice.margin = chooser.nanoseconds(*next, request) / nanoseconds;
  choice.reason += fmt::format("; {} {}", name_of(next->algorithm), duration(choice.margin * nanoseconds));
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
