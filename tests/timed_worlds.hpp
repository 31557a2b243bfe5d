// Worlds in virtual time, on machines that tests make up.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "kernels/block_timed.hpp"
#include "kernels/timed.hpp"
#include "tests/kernel_cases.hpp"

namespace tutti::timed {

using namespace cases;

/// A machine in which every number differs from every other, and none is 0.
inline Machine plain_gpus(int ranks) {
  Machine m;
  m.name = "plain GPUs";
  m.is_gpu = true;
  m.ranks = ranks;
  m.launch = 3000;
  m.word = 70;
  m.signal = 110;
  m.wait = 30;
  m.flag = 500;
  m.fence = 310;
  m.load = 900;
  m.link = 400;
  m.multicast = 350;
  m.memory = 3000;
  m.block = 40;
  m.packet_block = 10;
  m.packet_wire = 2;
  return m;
}

inline Machine plain_cpus(int ranks, int cores = 0) {
  Machine m;
  m.name = "plain CPUs";
  m.is_gpu = false;
  m.ranks = ranks;
  m.wiring = Wiring::shared;
  m.launch = 50;
  m.word = 12;
  m.signal = 5;
  m.each_flag = 7;
  m.wait = 11;
  m.flag = 90;
  m.memory = 40;
  m.cores = cores;
  m.handover = 1500;
  m.core_cache = 1 << 20;
  m.last_cache = 16 << 20;
  m.own_load = 60;
  m.own_store = 55;
  m.peer_load = 9;
  m.peer_store = 8;
  m.last_load = 20;
  m.last_store = 18;
  m.memory_load = 10;
  m.memory_store = 7;
  m.stream_store = 9;
  m.streams_above = 1 << 22;
  return m;
}

/// The case as one rank launches it: the receiver of a message receives.
inline Launch launch_of(const Case& c, const Call& call, int rank) {
  const bool receives = c.shape() == Shape::message && rank == c.to;
  return {.kernel = receives ? Kernel::recv : c.kernel, .call = call, .blocks = c.blocks};
}

/// Whether the rank takes part.
inline bool takes_part(const Case& c, int rank) {
  return c.shape() != Shape::message || rank == c.root || rank == c.to;
}

/// Two buffers a rank for calls without data, in segments and again where no peer reaches.
class Addresses {
 public:
  Addresses(World& world, const Case& c) : world_(world) {
    const std::size_t bytes = static_cast<std::size_t>(world.geometry().ranks) * c.count * size_of(c.type);
    for (int& segment : segments_) segment = world.allocate_segment(bytes);
    for (int r = 0; r < world.geometry().ranks; ++r)
      for (int i = 0; i < 2; ++i) alone_.push_back(world.allocate(r, bytes));
  }
  Call call(const Case& c, int rank) const {
    const auto buffer = [&](int i) {
      return c.mapped == Mapped::none || c.mapped == Mapped::all_but_one
                 ? alone_[static_cast<std::size_t>(2 * rank + i)]
                 : world_.segment(segments_[i], rank);
    };
    Call call;
    call.in = buffer(0);
    call.out = buffer(1);
    call.count = c.count;
    call.reduction.type = c.type;
    call.peer = c.shape() == Shape::message ? (rank == c.root ? c.to : c.root) : c.root;
    call.in_place = world_.place_of(call.in);
    call.out_place = world_.place_of(call.out);
    if (c.mapped == Mapped::multicast) call.in_multicast = call.out_multicast = call.out;
    return call;
  }

 private:
  World& world_;
  int segments_[2];
  std::vector<char*> alone_;  // [rank][in, out]
};

inline Geometry roomy(int ranks, int blocks = 1) {
  return {.ranks = ranks,
          .blocks = blocks,
          .packet_blocks = blocks,
          .message_blocks = blocks,
          .slots = 4,
          .slot_bytes = std::max<std::size_t>(least_slot_bytes(ranks), 64 << 10),
          .p2p_slots = 2,
          .p2p_slot_bytes = 64 << 10,
          .packet_bytes = 1024};
}

/// Nothing costs anything but flags, and links: a byte each nanosecond.
inline Machine ideal(int ranks, double flag) {
  Machine m;
  m.ranks = ranks;
  m.flag = flag;
  m.link = 1;
  return m;
}

/// From a meeting until the last rank's call has ended.
inline double time_of(const Machine& machine, const Geometry& geometry, const Case& c, Trace* trace = nullptr) {
  World world(machine, geometry, Backing::none);
  const Addresses buffers(world, c);
  if (trace) world.record(trace);
  double last = 0;
  world.run([&](Rank& me) {
    if (!takes_part(c, me.rank())) return;
    const Launch launch = launch_of(c, buffers.call(c, me.rank()), me.rank());
    me.call({&launch, 1});
    last = std::max(last, me.now());
  });
  return last;
}

/// The same of a kernel of the test's own, in which each rank has a mapped buffer of 1 MiB as `in` and as `out`.
inline double time_of(const Machine& machine, int blocks, const std::function<void(TimedBlock&, const Call&)>& body) {
  World world(machine, roomy(machine.ranks, blocks), Backing::none);
  const int segment = world.allocate_segment(1 << 20);
  double last = 0;
  world.run([&](Rank& me) {
    Launch launch{.blocks = blocks, .body = body};
    launch.call.in = launch.call.out = world.segment(segment, me.rank());
    launch.call.in_place = launch.call.out_place = world.place_of(launch.call.in);
    me.call({&launch, 1});
    last = std::max(last, me.now());
  });
  return last;
}

/// Runs the cases one after the other with real data: what is wrong in the results, or nothing.
inline std::string wrong_of(World& world, const std::vector<Case>& all, std::size_t bytes) {
  CaseBuffers<World> buffers(world, bytes);
  std::string wrong;
  world.run([&](Rank& me) {
    for (const Case& c : all) {
      if (!takes_part(c, me.rank())) continue;
      const Launch launch = launch_of(c, buffers.prepare(c, me.rank()).call, me.rank());
      me.call({&launch, 1});
      const std::string its = buffers.wrong_in(c, me.rank());
      if (wrong.empty()) wrong = its;
    }
  });
  return wrong;
}

}  // namespace tutti::timed
