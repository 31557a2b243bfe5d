#include "bench/explain/recording.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "bench/algorithms.hpp"
#include "bench/arguments.hpp"
#include "collectives/geometry_gpu.hpp"
#include "kernels/timed.hpp"

namespace tutti::explain {
namespace {

constexpr double kMostArenaBytes = 16e9;  // addresses: what is not touched takes no memory

/// Room for every message in one slot, and for as many messages as a call may have in flight: what formulas assume.
Geometry roomy(const Subject& subject, std::size_t call_bytes) {
  const auto n = static_cast<std::size_t>(subject.ranks);
  const std::size_t band = ceil_div(call_bytes, kLine) * kLine;
  const std::size_t lanes = n + static_cast<std::size_t>(ceil_log2(subject.ranks)) + 2;
  Geometry g{.ranks = subject.ranks,
             .blocks = subject.blocks,
             .packet_blocks = subject.blocks,
             .message_blocks = subject.blocks,
             .slots = 2 * std::max(subject.ranks, 2),
             .slot_bytes = least_slot_bytes(subject.ranks) + lanes * band,
             .p2p_slots = 2,
             .p2p_slot_bytes = std::max(band, kLine),
             .packet_bytes = std::max(band, kLine)};
  const double bytes = 2.0 * static_cast<double>(n) * g.blocks * g.slots * static_cast<double>(g.slot_bytes);
  if (bytes > kMostArenaBytes)
    throw bench::ArgumentError(
        fmt::format("{} cells of {} bytes on {} ranks need {:.0f} GB of slots, more than {:.0f}: use a smaller --cell",
                    subject.cells, subject.cell_bytes, subject.ranks, bytes / 1e9, kMostArenaBytes / 1e9));
  return g;
}

/// As on GPUs without a tuning of their own.
Chooser chooser_of(const Geometry& geometry) { return Chooser(geometry, false, default_tuning(true, false)); }

/// What the library would take for a call that is too large for packets.
Algorithm usual(Request request, int ranks) {
  request.algorithm = Algorithm::automatic;
  request.count = std::size_t{64} << 20;
  return choose(request, chooser_of(choosing_geometry(gpu_geometry(ranks)))).algorithm;
}

/// memcpy, which must not be asked for nothing from nowhere: a barrier has no buffers.
void copy(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

void fill(std::vector<float>& values, std::size_t cells, std::size_t each, const auto& value) {
  values.clear();
  for (std::size_t c = 0; c < cells; ++c) values.insert(values.end(), each, value(static_cast<int>(c)));
}

bool multiplies(const Subject& s) {
  return s.op == ReduceOp::prod && bench::Case{.operation = s.operation, .ranks = s.ranks}.reduces();
}

/// Of all-to-all: what a rank's number counts for in its cells, so that they tell whose they are.
int weight_of_rank(const Subject& s) { return s.cells * s.ranks > 10 ? 100 : 10; }

}  // namespace

timed::Machine plain_machine(int ranks) {
  timed::Machine m;
  m.name = "plain";
  m.about = "a machine of round figures, for pictures: links of 1 GB/s, flags that take 100 ns";
  m.ranks = ranks;
  m.word = 10;
  m.signal = 10;
  m.wait = 10;
  m.flag = 100;
  m.load = 50;
  m.link = 1;
  m.memory = 16;
  m.block = 4;
  m.packet_block = 4;
  return m;
}

float Recording::input(int rank, int c) const {
  if (multiplies(subject)) return (rank + c) % 3 == 0 ? 2.0f : 1.0f;
  if (subject.operation == bench::Operation::all_to_all) return static_cast<float>(weight_of_rank(subject) * rank + c);
  return static_cast<float>(c + rank);
}

std::string values_text(const Subject& subject) {
  if (multiplies(subject)) return "cell c of rank r holds 2 if c + r is divisible by 3, else 1";
  if (subject.operation == bench::Operation::all_to_all)
    return fmt::format("cell c of rank r holds {} r + c", weight_of_rank(subject));
  return "cell c of rank r holds c + r";
}

Recording record(const Subject& asked) {
  Recording r;
  r.subject = asked;
  Subject& s = r.subject;
  const auto n = static_cast<std::size_t>(s.ranks);
  const bool message = s.operation == bench::Operation::send_recv;
  r.request.collective = bench::collective_of(s.operation);
  r.request.op = s.op;
  r.request.peer = s.root;
  if (s.algorithm == Algorithm::automatic) s.algorithm = usual(r.request, s.ranks);
  r.request.algorithm = s.algorithm;
  r.request.count = 1;
  const Geometry usual_geometry = choosing_geometry(gpu_geometry(s.ranks));
  r.plan = choose(r.request, chooser_of(usual_geometry));
  if (s.blocks == 0) s.blocks = gpu_blocks(r.request, r.plan, gpu_geometry(s.ranks));
  const bool cut = r.request.collective == Collective::all_reduce || r.request.collective == Collective::reduce ||
                   r.request.collective == Collective::broadcast;
  if (s.cells == 0) s.cells = s.operation == bench::Operation::barrier ? 0 : cut ? s.ranks : message ? 4 : s.blocks;
  if (s.operation == bench::Operation::barrier) s.cells = 0;
  r.request.count = static_cast<std::size_t>(s.cells) * r.cell_elements();

  const Geometry geometry = roomy(s, r.request.bytes());
  r.plan = choose(r.request, chooser_of(geometry));
  timed::World world(s.machine, geometry, timed::Backing::real);
  world.record(&r.trace);

  const std::size_t in_bytes = r.request.bytes_in(n), out_bytes = r.request.bytes_out(n);
  const int in_segment = world.allocate_segment(in_bytes), out_segment = world.allocate_segment(out_bytes);
  std::vector<char*> ins, outs;
  for (int rank = 0; rank < s.ranks; ++rank) {
    Buffer in, out;
    const bool receives = message && rank == (s.root + 1) % s.ranks;
    in.used = message ? rank == s.root : r.request.has_in(rank);
    out.used = message ? receives : r.request.has_out(rank);
    fill(in.before, in_bytes / s.cell_bytes, r.cell_elements(), [&](int c) { return r.input(rank, c); });
    fill(out.before, out_bytes / s.cell_bytes, r.cell_elements(),
         [](int) { return std::numeric_limits<float>::quiet_NaN(); });
    ins.push_back(s.mapped ? world.segment(in_segment, rank) : world.allocate(rank, in_bytes));
    outs.push_back(s.mapped ? world.segment(out_segment, rank) : world.allocate(rank, out_bytes));
    copy(ins.back(), in.before.data(), in_bytes);
    copy(outs.back(), out.before.data(), out_bytes);
    r.in.push_back(std::move(in));
    r.out.push_back(std::move(out));
  }

  world.run([&](timed::Rank& me) {
    const auto rank = static_cast<std::size_t>(me.rank());
    if (message && !r.in[rank].used && !r.out[rank].used) return;
    timed::Launch launch;
    launch.kernel = r.plan.kernel;
    launch.blocks = s.blocks;
    Request request = r.request;
    if (message) {
      const bool sends = r.in[rank].used;
      request.collective = sends ? Collective::send : Collective::recv;
      request.peer = sends ? (s.root + 1) % s.ranks : s.root;
      launch.kernel = sends ? Kernel::send : Kernel::recv;
    }
    const bool average = s.op == ReduceOp::avg && request.reduces();
    launch.call.in = ins[rank];
    launch.call.out = outs[rank];
    launch.call.count = request.count;
    launch.call.reduction = {request.type, average ? ReduceOp::sum : s.op,
                             average ? static_cast<std::uint32_t>(s.ranks) : 1};
    launch.call.peer = request.peer;
    launch.call.description = describe(request, r.plan, s.blocks);
    launch.call.in_place = world.place_of(ins[rank]);
    launch.call.out_place = world.place_of(outs[rank]);
    me.call({&launch, 1});
    r.end = std::max(r.end, me.now());
  });

  for (std::size_t rank = 0; rank < n; ++rank) {
    r.in[rank].after.resize(r.in[rank].before.size());
    r.out[rank].after.resize(r.out[rank].before.size());
    copy(r.in[rank].after.data(), ins[rank], in_bytes);
    copy(r.out[rank].after.data(), outs[rank], out_bytes);
  }
  return r;
}

}  // namespace tutti::explain
