#include "tests/emulator/check/memory_threads.hpp"

#include <algorithm>

namespace tutti::emulator {
namespace {

constexpr std::array<std::uint8_t, 3> kScopes = {0, kGpuScope, kSysScope};

std::size_t width_of(std::uint8_t scope) {
  return static_cast<std::size_t>(std::find(kScopes.begin(), kScopes.end(), scope) - kScopes.begin());
}

}  // namespace

void Threads::begin_run(std::uint32_t threads) {
  fence_orders_.clear();
  for (ThreadState& state : states_) {
    state.known = {};
    state.fences = {};
    state.pending.clear();
    state.stale_run = 0;
    state.poll = {};
    state.last_address = 0;
    state.time = 0;
  }
  states_.resize(threads);
  placements_.assign(threads, {});
  clocks_.resize(threads);
}

VectorClock Threads::release(ThreadId id) {
  ThreadState& state = states_[id];
  VectorClock all = state.known;
  clocks_.learn(all, id, state.time++);
  return all;
}

void Threads::release_into(ThreadId id, VectorClock& sum, VectorClock& last) {
  ThreadState& state = states_[id];
  if (!(last == state.known)) clocks_.join(sum, last = state.known);
  clocks_.learn(sum, id, state.time++);
}

bool Threads::synchronise(ThreadId id, std::uint8_t scope, const Release& release) const {
  const Placement &reader = placements_[id], &writer = placements_[release.thread];
  return includes(scope, reader, writer) && includes(release.scope, writer, reader);
}

void Threads::acquire(ThreadId id, std::uint8_t scope, const Release& release) {
  if (synchronise(id, scope, release)) clocks_.join(states_[id].known, release.clock);
}

void Threads::read_relaxed(ThreadId id, std::uint64_t address, const Release& release) {
  auto& pending = states_[id].pending;
  // Who read both synchronises with both.
  for (auto& old : pending)
    if (old.address == address && old.release.thread == release.thread && old.release.scope == release.scope) {
      clocks_.join(old.release.clock, release.clock);
      return;
    }
  pending.push_back({address, release});
}

void Threads::acquire_pending(ThreadId id, std::uint8_t scope, std::uint64_t address) {
  for (const auto& read : states_[id].pending)
    if (read.address == address) acquire(id, scope, read.release);
}

void Threads::fence(ThreadId id, Order order, std::uint8_t scope) {
  ThreadState& state = states_[id];
  if (acquires(order))
    std::erase_if(state.pending, [&](const ThreadState::Pending& read) {
      const bool done = synchronise(id, scope, read.release);
      if (done) clocks_.join(state.known, read.release.clock);
      return done;
    });
  if (order == Order::seq_cst) order_fences(id, scope);
  if (!releases(order)) return;
  const std::size_t width = width_of(scope);
  state.fences[width] = release(id);
  for (std::size_t narrower = 0; narrower < width; ++narrower) state.fences[narrower] = {};
}

/// Fences of which each scope includes the other's thread are ordered as they are done.
void Threads::order_fences(ThreadId id, std::uint8_t scope) {
  const Placement& here = placements_[id];
  FenceOrder* own = nullptr;
  for (FenceOrder& order : fence_orders_) {
    const Placement& there = placements_[order.thread];
    if (includes(scope, here, there) && includes(order.scope, there, here))
      clocks_.join(states_[id].known, order.clock);
    if (order.scope == scope && there.block == here.block) own = &order;
  }
  if (!own) own = &fence_orders_.emplace_back(scope, id, VectorClock{});
  clocks_.join(own->clock, states_[id].known);
  clocks_.learn(own->clock, id, states_[id].time++);
}

}  // namespace tutti::emulator
