#include "bench/predict/calls.hpp"

#include <algorithm>

#include "bench/algorithms.hpp"
#include "collectives/geometry_gpu.hpp"
#include "collectives/geometry_host.hpp"

namespace tutti::predict {
namespace {

Request request_of(const Question& question) {
  const bench::Case& c = question.c;
  Request request{.collective = bench::collective_of(c.operation), .count = c.count, .type = c.type, .op = c.op};
  if (c.rooted()) request.peer = c.root;
  request.algorithm = question.algorithm;
  return request;
}

/// The threads that a rank may use on CPUs, as sessions agree on them.
int threads_of(const timed::Machine& machine, int ranks) {
  return std::clamp(machine.cores / ranks, 1, kMostHostBlocks);
}

Geometry geometry_of(const timed::Machine& machine, const Question& question) {
  const int ranks = question.c.ranks;
  if (!machine.is_gpu)
    return host_geometry(ranks, std::max(question.blocks, threads_of(machine, ranks)), std::max(question.blocks, 1));
  Geometry geometry = gpu_geometry(ranks);
  if (machine.blocks > 0) geometry.blocks = std::min(geometry.blocks, machine.blocks);
  if (question.blocks > 0) geometry.blocks = std::min(geometry.blocks, question.blocks);
  geometry.packet_blocks = std::min(geometry.packet_blocks, geometry.blocks);
  geometry.message_blocks = std::min(geometry.message_blocks, geometry.blocks);
  return geometry;
}

}  // namespace

Calls::Calls(const timed::Machine& machine, const Question& question)
    : machine_(machine),
      question_(question),
      request_(request_of(question)),
      geometry_(geometry_of(machine, question)) {
  machine_.ranks = question.c.ranks;
  const int ranks = question.c.ranks;
  const bool crowded = !machine.is_gpu && machine.cores > 0 && ranks > machine.cores;
  const Chooser chooser(machine.is_gpu ? choosing_geometry(geometry_) : geometry_, false,
                        default_tuning(machine.is_gpu, crowded));
  plan_ = choose(request_, chooser);
  blocks_ = machine.is_gpu ? gpu_blocks(request_, plan_, geometry_)
                           : host_blocks(request_, plan_, ranks, threads_of(machine, ranks), question.blocks);
  if (machine.is_gpu && ranks > question.folded_above) fold();
}

void Calls::fold() {
  const int left = plan_.kernel == Kernel::tree_all_reduce ? 2 : 1;
  if (blocks_ <= left) return;
  folded_ = blocks_ / left;
  const auto folded = static_cast<std::size_t>(folded_);
  blocks_ = left;
  geometry_.blocks = left;
  geometry_.packet_blocks = geometry_.message_blocks = 1;
  geometry_.slot_bytes *= folded;
  geometry_.packet_bytes *= folded;
  geometry_.p2p_slot_bytes *= folded;
  machine_.block *= folded_;
  machine_.packet_block *= folded_;
}

Cost Calls::cost() const {
  return cost_of(plan_.kernel, question_.c.ranks, static_cast<double>(request_.bytes()),
                 question_.memory == bench::MemoryKind::peer_mapped, blocks());
}

void Calls::allocate(timed::World& world) {
  const bench::Case& c = question_.c;
  const auto buffers = [&](std::size_t count) {
    std::vector<char*> places;
    const std::size_t bytes = std::max(count * size_of(c.type), kLine);
    const bool mapped = question_.memory == bench::MemoryKind::peer_mapped;
    const int segment = mapped ? world.allocate_segment(bytes) : -1;
    for (int r = 0; r < c.ranks; ++r) places.push_back(mapped ? world.segment(segment, r) : world.allocate(r, bytes));
    return places;
  };
  in_ = buffers(c.in_count());
  const bool one_buffer = c.is(bench::Operation::broadcast);
  out_ = one_buffer ? in_ : buffers(c.out_count());
}

void Calls::prepare(timed::Rank& rank) const {
  const bench::Case& c = question_.c;
  if (c.has_in(rank.rank())) rank.write(in_[static_cast<std::size_t>(rank.rank())], c.in_count() * size_of(c.type));
}

void Calls::check(timed::Rank& rank) const {
  const bench::Case& c = question_.c;
  if (c.has_out(rank.rank())) rank.read(out_[static_cast<std::size_t>(rank.rank())], c.out_count() * size_of(c.type));
}

timed::Launch Calls::launch(const timed::World& world, int rank, const Request& request, Kernel kernel,
                            std::uint64_t number) const {
  // As call_for() of the library, which knows the segments of a session only.
  const bool average = request.op == ReduceOp::avg;
  const auto at = static_cast<std::size_t>(rank);
  Call call;
  call.in = in_[at];
  call.out = out_[at];
  call.count = request.count;
  call.reduction = {request.type, average ? ReduceOp::sum : request.op,
                    average ? static_cast<std::uint32_t>(question_.c.ranks) : 1};
  call.peer = request.peer;
  call.number = number;
  call.description = describe(request, plan_, blocks_);
  if (!by_packets(kernel) && request.count > 0) {
    const bool broadcasts = request.collective == Collective::broadcast;
    if (broadcasts || request.has_in(rank)) call.in_place = world.place_of(call.in);
    if (broadcasts || request.has_out(rank)) call.out_place = world.place_of(call.out);
  }
  const auto n = static_cast<std::size_t>(question_.c.ranks);
  timed::Launch launch{.kernel = kernel, .call = call, .blocks = blocks_};
  launch.buffers = static_cast<double>((request.bytes_in(n) + request.bytes_out(n)) * n);
  return launch;
}

std::vector<timed::Launch> Calls::make(const timed::World& world, int rank, std::uint64_t number) const {
  if (!request_.is_message()) return {launch(world, rank, request_, plan_.kernel, number)};
  Request there = request_, back = request_;
  there.peer = back.peer = rank ^ 1;
  if (there.peer >= question_.c.ranks) return {};
  there.collective = Collective::send;
  back.collective = Collective::recv;
  std::vector<timed::Launch> launches = {launch(world, rank, there, Kernel::send, 0),
                                         launch(world, rank, back, Kernel::recv, 0)};
  if (rank > there.peer) std::swap(launches[0], launches[1]);
  return launches;
}

}  // namespace tutti::predict
