#include "kernels/timed_strands.hpp"

#include <algorithm>
#include <utility>

namespace tutti::timed {
namespace {

constexpr std::size_t kBlockStack = std::size_t{64} << 10;
constexpr std::size_t kProgramStack = std::size_t{256} << 10;

}  // namespace

Scheduler::~Scheduler() {
  // Blocks first: they refer to what stands in the stacks of their programs.
  for (Strand& s : strands_)
    if (s.block >= 0) s.fiber.reset();
}

Strand& Scheduler::add(int rank, int block) {
  Strand& s = strands_.emplace_back();
  s.number = static_cast<int>(strands_.size()) - 1;
  s.rank = rank;
  s.block = block;
  if (block >= 0 && !cores_.empty()) s.core = rank % static_cast<int>(cores_.size());
  return s;
}

void Scheduler::start(Strand& strand, double at, std::function<void()> job) {
  strand.job = std::move(job);
  strand.clock = at;
  strand.done = false;
  if (!strand.fiber)  // one for all its jobs: making one costs more than a small call
    strand.fiber = std::make_unique<Fiber>(
        [&strand] {
          for (;;) {
            strand.job();
            strand.done = true;
            Fiber::yield();
          }
        },
        strand.block < 0 ? kProgramStack : kBlockStack, Switches::ordered);
  push(strand, at);
}

void Scheduler::run() {
  while (!waiting_.empty()) {
    const Turn turn = waiting_.front();
    std::pop_heap(waiting_.begin(), waiting_.end());
    waiting_.pop_back();
    Strand& s = *turn.strand;
    if (s.core >= 0 && !may_go_on(s, turn.time)) continue;
    s.fiber->resume();
    if (s.core >= 0 && (s.parked || s.done)) release_core(s);
  }
}

/// Whether the strand has its core. If not, its turn will come again.
bool Scheduler::may_go_on(Strand& strand, double time) {
  if (strand.holds_core) return true;
  Core& core = cores_[static_cast<std::size_t>(strand.core)];
  if (core.holder) {
    strand.ready = time;
    core.queue.push_back(&strand);
    return false;
  }
  if (core.free > time) {
    push(strand, core.free);
    return false;
  }
  core.holder = &strand;
  strand.holds_core = true;
  const bool other = core.last_rank >= 0 && core.last_rank != strand.rank;
  core.last_rank = strand.rank;
  // A core without work hands over to one that waits before there is something to go on with.
  strand.clock = other ? std::max(time, core.free + handover_) : time;
  if (strand.clock == time) return true;
  push(strand, strand.clock);
  return false;
}

void Scheduler::release_core(Strand& strand) {
  Core& core = cores_[static_cast<std::size_t>(strand.core)];
  strand.holds_core = false;
  core.holder = nullptr;
  core.free = strand.clock;
  if (core.queue.empty()) return;
  Strand& next = *core.queue.front();
  core.queue.pop_front();
  push(next, std::max(core.free, next.ready));
}

void Scheduler::park(Strand& me) {
  me.parked = true;
  Fiber::yield();
}

void Scheduler::wake(Strand& strand, double at) {
  strand.parked = false;
  strand.waiting.kind = Waiting::Kind::nothing;
  strand.clock = std::max(strand.clock, at);
  push(strand, strand.clock);
}

void Scheduler::push(Strand& strand, double time) {
  waiting_.push_back({time, order_++, &strand});
  std::push_heap(waiting_.begin(), waiting_.end());
}

}  // namespace tutti::timed
