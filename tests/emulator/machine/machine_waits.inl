// Threads that wait for each other: at barriers of the block, for lanes of their warp; and what a thread's end means to
// those that wait.
#pragma once
#include "tests/emulator/machine/machine.hpp"

namespace tutti::emulator {

template <class Memory>
void Machine<Memory>::arrive(Thread& t, const Instruction& i) {
  Block& block = *t.block;
  const std::uint64_t index = t.slots[i.from[0]];
  if (index >= Block::kBarriers) throw Fault(t, fmt::format("barrier {} of {}", index, Block::kBarriers));
  Block::Barrier& barrier = block.barriers[index];
  const bool counted = i.from_count > 1 && i.from[1] != kNoSlot;
  const auto needed = counted ? static_cast<std::uint32_t>(t.slots[i.from[1]]) : 0;
  if (counted && (needed == 0 || needed % 32 != 0)) throw Fault(t, fmt::format("a barrier of {} threads", needed));
  if (barrier.arrived != 0 && barrier.needed != needed)
    throw Fault(t, fmt::format("barrier {} expects {} and {} threads", index, barrier.needed, needed));
  barrier.needed = needed;
  ++barrier.arrived;
  memory_.barrier_arrive(t, static_cast<int>(index));
  if (i.kind == Kind::barrier_arrive) {
    ++t.next;
  } else {
    if (i.kind == Kind::barrier_reduce) {
      barrier.reduction = static_cast<BarrierReduction>(i.operation);
      ++barrier.votes;
      barrier.ones += t.slots[i.from[2]] & 1;
    }
    t.state = Thread::State::at_barrier;
    t.barrier = static_cast<std::uint8_t>(index);
  }
  complete_if_all_came(block, static_cast<int>(index));
}

template <class Memory>
void Machine<Memory>::complete_if_all_came(Block& block, int index) {
  const Block::Barrier& barrier = block.barriers[static_cast<std::size_t>(index)];
  const std::uint32_t needed = barrier.needed != 0 ? barrier.needed : block.running();
  if (barrier.arrived != 0 && barrier.arrived >= needed) complete(block, index);
}

template <class Memory>
void Machine<Memory>::complete(Block& block, int index) {
  Block::Barrier& barrier = block.barriers[static_cast<std::size_t>(index)];
  memory_.barrier_complete(block, index);
  const Thread* first = nullptr;  // of the warp
  for (Thread& t : block.threads()) {
    if (t.lane() == 0) first = nullptr;
    if (t.state != Thread::State::at_barrier || t.barrier != index) continue;
    if (!first) first = &t;
    if ((t.instruction().aligned || first->instruction().aligned) && &t.instruction() != &first->instruction())
      throw Fault(t, fmt::format("barrier in divergent code: thread {} of its warp is at PTX line {}", first->index,
                                 first->instruction().line));
  }
  for (Thread& t : block.threads()) {
    if (t.state != Thread::State::at_barrier || t.barrier != index) continue;
    const Instruction& i = t.instruction();
    if (i.kind == Kind::barrier_reduce) {
      const std::uint32_t all = barrier.ones == barrier.votes, any = barrier.ones != 0;
      t.slots[i.to[0]] = barrier.reduction == BarrierReduction::bit_and  ? all
                         : barrier.reduction == BarrierReduction::bit_or ? any
                                                                         : barrier.ones;
    }
  }
  for (Thread& t : block.threads())
    if (t.state == Thread::State::at_barrier && t.barrier == index) t.state = Thread::State::ready, ++t.next;
  barrier = {};
}

/// Whether all lanes that the thread waits for have come; they then have done the instruction.
template <class Memory>
bool Machine<Memory>::warp_step(Thread& t) {
  const std::span<Thread> warp = t.block->warp(t);
  std::uint32_t mask = t.mask, here = 0;
  if (warp.size() < 32) mask &= (1u << warp.size()) - 1;
  for (const Thread& other : warp) {
    const std::uint32_t bit = 1u << other.lane();
    if (other.state == Thread::State::done) mask &= ~bit;
    if (other.state == Thread::State::at_warp && &other.instruction() == &t.instruction() && other.mask == t.mask)
      here |= bit;
  }
  if ((here & mask) != mask) return false;
  const Instruction& i = t.instruction();
  if (i.kind == Kind::warp_barrier)
    memory_.warp_barrier(warp, mask);
  else
    warp_compute(warp, mask, i);
  for (Thread& other : warp)
    if (mask >> other.lane() & 1) other.state = Thread::State::ready, ++other.next;
  return true;
}

void warp_shuffle(std::span<Thread> warp, std::uint32_t mask, const Instruction& i);
void warp_vote(std::span<Thread> warp, std::uint32_t mask, const Instruction& i);
void warp_match(std::span<Thread> warp, std::uint32_t mask, const Instruction& i);
void warp_reduce(std::span<Thread> warp, std::uint32_t mask, const Instruction& i);
void warp_elect(std::span<Thread> warp, std::uint32_t mask, const Instruction& i);

template <class Memory>
void Machine<Memory>::warp_compute(std::span<Thread> warp, std::uint32_t mask, const Instruction& i) {
  if (i.kind == Kind::shuffle) warp_shuffle(warp, mask, i);
  if (i.kind == Kind::vote) warp_vote(warp, mask, i);
  if (i.kind == Kind::match) warp_match(warp, mask, i);
  if (i.kind == Kind::warp_reduce) warp_reduce(warp, mask, i);
  if (i.kind == Kind::elect) warp_elect(warp, mask, i);
}

template <class Memory>
void Machine<Memory>::end(Thread& t) {
  Block& block = *t.block;
  block.end(t);
  for (int index = 0; index < Block::kBarriers && !block.done(); ++index) complete_if_all_came(block, index);
  for (Thread& other : block.warp(t))
    if (other.state == Thread::State::at_warp) warp_step(other);
}

}  // namespace tutti::emulator
