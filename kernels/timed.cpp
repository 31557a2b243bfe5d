#include "kernels/timed.hpp"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <utility>

#include "kernels/block_timed.hpp"
#include "kernels/timed_simulation.hpp"

namespace tutti::timed {
namespace {

constexpr std::size_t kTold = 16;  // of those that wait in vain

}  // namespace

Traffic::Traffic(int ranks)
    : ranks_(static_cast<std::size_t>(ranks)),
      payload_(zeros(ranks_ * ranks_)),
      more_(zeros(ranks_ * ranks_)),
      to_all_(ranks_),
      into_switch_(ranks_),
      out_of_switch_(ranks_) {}

Traffic::Pairs Traffic::zeros(std::size_t many) {
  Pairs pairs(static_cast<double*>(std::calloc(many, sizeof(double))));
  if (!pairs) throw std::bad_alloc();
  return pairs;
}

Simulation::Simulation(const Machine& machine, const Geometry& geometry, Backing its_backing)
    : scheduler(machine.is_gpu ? 0 : machine.cores, machine.handover),
      places(geometry, its_backing),
      costs(costs_of(machine)),
      traffic(geometry.ranks),
      backing(its_backing),
      seen(static_cast<std::size_t>(geometry.ranks)),
      blocks_(static_cast<std::size_t>(geometry.ranks)),
      pending_(static_cast<std::size_t>(geometry.ranks)),
      launches_(static_cast<std::size_t>(geometry.ranks)),
      exchanges_(4 * static_cast<std::size_t>(geometry.blocks)),
      arrivals_(2 * static_cast<std::size_t>(geometry.packet_blocks)),
      packets_waiters_(static_cast<std::size_t>(geometry.packet_blocks) * static_cast<std::size_t>(geometry.ranks),
                       kNone) {
  for (int r = 0; r < geometry.ranks; ++r) scheduler.add(r, -1);
}

void Simulation::run(const std::function<void(Rank&)>& its_program, World& world) {
  for (int r = 0; r < ranks(); ++r)
    scheduler.start(program(r), 0, [&its_program, &world, r] {
      Rank rank(world, r);
      its_program(rank);
    });
  scheduler.run();
  for (const Strand& s : scheduler.strands())
    if (!s.done) deadlock();
  // Words that wait are written when they end.
  if (trace)
    std::stable_sort(trace->begin(), trace->end(), [](const Event& a, const Event& b) { return a.begin < b.begin; });
}

Strand& Simulation::block_strand(int rank, std::size_t number) {
  std::vector<Strand*>& its = blocks_[static_cast<std::size_t>(rank)];
  while (its.size() <= number) its.push_back(&scheduler.add(rank, 0));
  return *its[number];
}

void Simulation::call(int rank, std::span<const Launch> launches) {
  const auto r = static_cast<std::size_t>(rank);
  Strand& me = program(rank);
  launches_[r] = launches;
  Pending& pending = pending_[r];
  pending = {};
  std::size_t number = 0;
  int blocks = 0;
  for (const Launch& launch : launches) blocks += launch.blocks;
  const double begin = me.clock + costs->machine().launch + (blocks > 1 ? costs->machine().each_block * blocks : 0);
  for (const Launch& launch : launches) {
    for (int b = 0; b < launch.blocks; ++b) {
      Strand& strand = block_strand(rank, number++);
      strand.block = b;
      strand.posted = 0;
      strand.steps = 0;
      strand.launch = &launch;
      ++pending.blocks;
      scheduler.start(strand, begin, [this, &strand, &pending, &me] {
        TimedBlock block(*this, strand);
        if (strand.launch->body)
          strand.launch->body(block, strand.launch->call);
        else
          run_kernel(strand.launch->kernel, block, strand.launch->call);
        pending.end = std::max(pending.end, strand.clock);
        if (--pending.blocks == 0) scheduler.wake(me, pending.end);
      });
    }
  }
  if (number == 0) return;
  me.waiting.kind = Waiting::Kind::blocks;
  scheduler.park(me);
  launches_[r] = {};
}

void Simulation::meet(int rank) {
  Strand& me = program(rank);
  meeting_ = std::max(meeting_, me.clock);
  if (++met_ < ranks()) {
    me.waiting.kind = Waiting::Kind::meeting;
    scheduler.park(me);
    return;
  }
  met_ = 0;
  for (int r = 0; r < ranks(); ++r)
    if (r != rank) scheduler.wake(program(r), meeting_);
  me.clock = std::exchange(meeting_, 0);
  scheduler.take_turn(me);
}

void Simulation::use(int rank, const void* at, std::size_t bytes, bool writes) {
  if (bytes == 0) return;
  Strand& me = program(rank);
  scheduler.take_turn(me);
  const Part part{at, places.owner(at), places.in_arena(at), static_cast<double>(bytes)};
  me.clock = costs->use(rank, me.clock, part, writes);
}

Exchange& Simulation::exchange(Purpose purpose, int block, std::uint64_t number) {
  const std::size_t which = purpose == Purpose::enter ? 0 : static_cast<std::size_t>(places.layout().geometry.blocks);
  Exchange& found = exchanges_[(which + static_cast<std::size_t>(block)) * 2 + (number & 1)];
  if (found.number == number) return found;
  found.number = number;
  found.come = 0;
  found.stored.resize(static_cast<std::size_t>(ranks()));
  found.steps.resize(static_cast<std::size_t>(ranks()));
  found.waiting.clear();
  found.in.resize(static_cast<std::size_t>(ranks()));
  found.out.resize(static_cast<std::size_t>(ranks()));
  found.pulls.resize(static_cast<std::size_t>(ranks()));
  found.first = -1;
  found.agreement.reset();
  return found;
}

std::span<Arrival> Simulation::arrivals(int block, std::uint64_t use, int receiver) {
  const auto n = static_cast<std::size_t>(ranks());
  std::vector<Arrival>& all = arrivals_[static_cast<std::size_t>(block) * 2 + (use & 1)];
  if (all.empty()) all.resize(n * n);
  return {all.data() + static_cast<std::size_t>(receiver) * n, n};
}

std::string Simulation::text_of(const Strand& s) const {
  std::string text = "rank " + std::to_string(s.rank);
  if (s.block < 0) return text;
  text += " block " + std::to_string(s.block);
  text += std::string(" in ") + (s.launch->body ? "a kernel of the caller" : tutti::name_of(s.launch->kernel));
  if (s.waiting.kind == Waiting::Kind::nothing) return text;
  return text + " (" + model::Line(s.waiting.where).text() + ")";
}

std::string Simulation::text_of(const Waiting& w, const Strand& s) const {
  const auto relative = [&](std::uint64_t count) { return std::to_string(static_cast<Count>(count - w.base)); };
  std::string text;
  switch (w.kind) {
    case Waiting::Kind::flag:
      text = model::name_of(w.from.purpose);
      text += " from rank " + std::to_string(w.from.peer);
      return text + ", wants " + relative(w.wanted) + ", sees " + relative(*w.seen);
    case Waiting::Kind::exchange:
      return std::string(model::name_of(w.from.purpose)) + " from all, " + std::to_string(*w.seen) + " of " +
             std::to_string(ranks()) + " have come";
    case Waiting::Kind::packets: return "packets from rank " + std::to_string(w.from.peer);
    case Waiting::Kind::blocks: return "the end of its blocks";
    case Waiting::Kind::meeting: return "all ranks to meet";
    default: return "its core, which rank " + std::to_string(s.rank) + " never got";
  }
}

void Simulation::deadlock() {
  std::string text = "nobody can go on: ";
  std::size_t told = 0, more = 0;
  for (const Strand& s : scheduler.strands()) {
    // Programs wait for their blocks, which say why.
    if (s.done || s.waiting.kind == Waiting::Kind::blocks) continue;
    if (told == kTold) {
      ++more;
      continue;
    }
    if (told++ > 0) text += "; ";
    text += text_of(s);
    text += " waits for " + text_of(s.waiting, s);
  }
  if (more > 0) text += "; and " + std::to_string(more) + " more";
  throw std::logic_error(text);
}

void Rank::call(std::span<const Launch> launches) { world_.simulation_->call(rank_, launches); }
void Rank::read(const void* at, std::size_t bytes) { world_.simulation_->use(rank_, at, bytes, false); }
void Rank::write(const void* at, std::size_t bytes) { world_.simulation_->use(rank_, at, bytes, true); }
void Rank::meet() { world_.simulation_->meet(rank_); }
double Rank::now() const { return world_.simulation_->now(rank_); }

World::World(const Machine& machine, const Geometry& geometry, Backing backing)
    : simulation_(std::make_unique<Simulation>(machine, geometry, backing)) {}
World::~World() = default;
const Geometry& World::geometry() const { return simulation_->places.layout().geometry; }
char* World::allocate(int rank, std::size_t bytes) { return simulation_->places.allocate(rank, bytes); }
int World::allocate_segment(std::size_t bytes) { return simulation_->places.allocate_segment(bytes); }
char* World::segment(int number, int rank) const { return simulation_->places.segment(number, rank); }
Place World::place_of(const void* at) const { return simulation_->places.place_of(at); }
void World::record(Trace* trace) { simulation_->trace = trace; }
void World::run(const std::function<void(Rank&)>& program) { simulation_->run(program, *this); }
double World::payload_bytes(int from, int to) const { return simulation_->traffic.payload_of(from, to); }
double World::sent_to_switch(int rank) const { return simulation_->traffic.sent_to_switch(rank); }
double World::received_from_switch(int rank) const { return simulation_->traffic.received_from_switch(rank); }
double World::wire_bytes(int from, int to) const { return simulation_->traffic.all_of(from, to); }

}  // namespace tutti::timed
