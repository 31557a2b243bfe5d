// The interpreter: runs one thread at a time, up to its next scheduling point.
//
// What memory means is a parameter. A Memory has
//   load(thread, instruction, address, values)        fills values: one per element (.b128: two), zero-extended bits
//   store(thread, instruction, address, values)       the same
//   atomic(thread, instruction, address, operand, next)   returns the old value; see apply_atomic
//   multimem_load, multimem_store, multimem_reduce(thread, instruction, address, values)
//   fence(thread, instruction), proxy_fence(thread, instruction)
//   barrier_arrive(thread, index)      the thread has come to a barrier of its block, to wait or not
//   barrier_complete(block, index)     it is complete: what came before all arrivals, since it was last complete, comes
//                                      before what those who wait there (State::at_barrier, Thread::barrier) do next
//   warp_barrier(threads, mask)        the same for these lanes of a warp, by bar.warp.sync
// Addresses are the host's, of every space: shared, local and parameter memory are parts of the Block. Parameters are
// read by the machine itself. Bounds, races and order are the Memory's business; alignment is checked here.
//
// Threads of a warp run apart, as PTX allows. A warp-wide instruction waits for all lanes of its mask that have not
// ended to come to the same instruction. `.aligned` barriers (bar.sync is one) demand that the threads of each warp
// come by the same instruction.
#pragma once
#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "tests/emulator/machine/block.hpp"
#include "tests/emulator/ptx/arithmetic.hpp"

namespace tutti::emulator {

/// Why a thread stopped running.
enum class Stop : std::uint8_t {
  budget,  ///< it has run as many instructions as it was to
  access,  ///< a strong access or a fence is done
  sleep,   ///< it asked for a pause
  waits,   ///< at a barrier, or for its warp
  done,
};

template <class Memory>
class Machine {
 public:
  explicit Machine(Memory& memory) : memory_(memory) {}

  /// Instructions run so far, of all threads.
  std::uint64_t executed() const { return executed_; }

  /// Runs a ready thread for at most `budget` instructions. Throws Fault for what the program does wrong.
  Stop run(Thread& thread, std::uint32_t budget);

 private:
  static constexpr int kMostValues = 16;

  bool skipped(const Thread& t, const Instruction& i) const {
    return i.guard != kNoSlot && (t.slots[i.guard] & 1) == (i.guard_negated ? 1u : 0u);
  }
  std::uint64_t address(Thread& t, const Instruction& i) const;
  void check_alignment(const Thread& t, const Instruction& i, std::uint64_t address) const;
  void load(Thread& t, const Instruction& i);
  void load_parameter(Thread& t, const Instruction& i);
  void store(Thread& t, const Instruction& i);
  void atomic(Thread& t, const Instruction& i);
  void multimem(Thread& t, const Instruction& i);
  void put(Thread& t, const Instruction& i, const std::uint64_t* values) const;
  void take(const Thread& t, const Instruction& i, std::uint64_t* values) const;
  void convert_address(Thread& t, const Instruction& i) const;
  void arrive(Thread& t, const Instruction& i);
  void complete(Block& block, int index);
  void complete_if_all_came(Block& block, int index);
  bool warp_step(Thread& t);
  void warp_compute(std::span<Thread> warp, std::uint32_t mask, const Instruction& i);
  void call(Thread& t, const Instruction& i);
  void leave(Thread& t);
  void end(Thread& t);

  Memory& memory_;
  std::uint64_t executed_ = 0;
};

/// A device function that CUDA provides: vprintf and __assertfail. Throws Fault for an assertion and for any other.
/// Returns what the function returns.
std::uint64_t call_provided(Thread& thread, const CallSite& call, std::span<const std::byte> frame);

/// The host's time for the global timer; `executed` instructions for the others.
std::uint64_t read_clock(Clock clock, std::uint64_t executed);

template <class Memory>
Stop Machine<Memory>::run(Thread& t, std::uint32_t budget) {
  std::uint32_t left = budget;
  const auto stop = [&](Stop why) {
    executed_ += budget - left;
    return why;
  };
  while (left != 0) {
    const Instruction& i = t.function->code[static_cast<std::size_t>(t.next)];
    --left;
    if (i.kind == Kind::compute) {
      if (!skipped(t, i)) i.compute(t.slots, i);
      ++t.next;
      continue;
    }
    if (skipped(t, i)) {
      ++t.next;
      continue;
    }
    switch (i.kind) {
      case Kind::compute:
      case Kind::nothing: ++t.next; break;
      case Kind::branch: t.next = i.target; break;
      case Kind::branch_indexed: {
        const auto& table = t.function->tables[static_cast<std::size_t>(i.target)];
        const auto index = static_cast<std::uint32_t>(t.slots[i.from[0]]);
        if (index >= table.size()) throw Fault(t, fmt::format("branch to entry {} of {}", index, table.size()));
        t.next = table[index];
        break;
      }
      case Kind::load:
        load(t, i);
        ++t.next;
        if (i.strong()) return stop(Stop::access);
        break;
      case Kind::store:
        store(t, i);
        ++t.next;
        if (i.strong()) return stop(Stop::access);
        break;
      case Kind::atomic:
        atomic(t, i);
        ++t.next;
        return stop(Stop::access);
      case Kind::multimem_load:
      case Kind::multimem_store:
      case Kind::multimem_reduce:
        multimem(t, i);
        ++t.next;
        return stop(Stop::access);
      case Kind::fence:
        memory_.fence(t, i);
        ++t.next;
        return stop(Stop::access);
      case Kind::proxy_fence:
        memory_.proxy_fence(t, i);
        ++t.next;
        return stop(Stop::access);
      case Kind::barrier:
      case Kind::barrier_arrive:
      case Kind::barrier_reduce:
        arrive(t, i);
        return stop(t.state == Thread::State::at_barrier ? Stop::waits : Stop::access);
      case Kind::warp_barrier:
      case Kind::shuffle:
      case Kind::vote:
      case Kind::match:
      case Kind::warp_reduce:
      case Kind::elect:
        t.mask = static_cast<std::uint32_t>(t.slots[i.from[i.from_count - 1]]);
        if ((t.mask >> t.lane() & 1) == 0) throw Fault(t, "a lane that is not in its own mask");
        t.state = Thread::State::at_warp;
        if (!warp_step(t)) return stop(Stop::waits);
        break;
      case Kind::active_mask:
        t.slots[i.to[0]] = 1u << t.lane();
        ++t.next;
        break;  // converged with nobody
      case Kind::to_generic:
      case Kind::from_generic:
      case Kind::is_in_space:
        convert_address(t, i);
        ++t.next;
        break;
      case Kind::call: call(t, i); break;
      case Kind::ret:
        if (!t.frames.empty()) {
          leave(t);
          break;
        }
        [[fallthrough]];
      case Kind::exit: end(t); return stop(Stop::done);
      case Kind::clock:
        t.slots[i.to[0]] = read_clock(static_cast<Clock>(i.operation), executed_ + (budget - left));
        ++t.next;
        break;
      case Kind::sleep: ++t.next; return stop(Stop::sleep);
      case Kind::trap: throw Fault(t, "trap");
      case Kind::breakpoint: throw Fault(t, "breakpoint");
    }
  }
  return stop(Stop::budget);
}

template <class Memory>
std::uint64_t Machine<Memory>::address(Thread& t, const Instruction& i) const {
  const std::uint64_t value = t.slots[i.address] + static_cast<std::uint64_t>(i.offset);
  const auto within = [&](std::span<const std::byte> space, const char* name) {
    const std::uint64_t offset = static_cast<std::uint32_t>(value);
    const std::uint64_t bytes = static_cast<std::uint64_t>(bytes_of(i.type)) * i.vector;
    if (offset + bytes > space.size())
      throw Fault(
          t, fmt::format("out of bounds: {} bytes at {} of {} bytes of {} memory", bytes, offset, space.size(), name));
    return reinterpret_cast<std::uint64_t>(space.data()) + offset;
  };
  switch (i.space) {
    case Space::shared: return within(t.block->shared(), "shared");
    case Space::local: return within(t.block->local(t), "local");
    case Space::param: return within(t.block->launch().parameters, "parameter");
    case Space::generic:
    case Space::global:
    case Space::constant: break;
  }
  return value;
}

template <class Memory>
void Machine<Memory>::check_alignment(const Thread& t, const Instruction& i, std::uint64_t address) const {
  const std::uint64_t bytes = static_cast<std::uint64_t>(bytes_of(i.type)) * i.vector;
  if (bytes != 0 && address % bytes != 0)
    throw Fault(t, fmt::format("misaligned: {} bytes at address {:#x}", bytes, address));
}

template <class Memory>
void Machine<Memory>::put(Thread& t, const Instruction& i, const std::uint64_t* values) const {
  if (i.type == Type::b128) {
    for (int k = 0; k < i.vector; ++k) t.slots[i.to[k]] = values[2 * k], t.slots[i.to[k] + 1] = values[2 * k + 1];
    return;
  }
  for (int k = 0; k < i.vector; ++k) t.slots[i.to[k]] = is_signed(i.type) ? extended(values[k], i.type) : values[k];
}

template <class Memory>
void Machine<Memory>::take(const Thread& t, const Instruction& i, std::uint64_t* values) const {
  if (i.type == Type::b128) {
    for (int k = 0; k < i.vector; ++k) values[2 * k] = t.slots[i.from[k]], values[2 * k + 1] = t.slots[i.from[k] + 1];
    return;
  }
  for (int k = 0; k < i.vector; ++k) values[k] = t.slots[i.from[k]];
}

template <class Memory>
void Machine<Memory>::load_parameter(Thread& t, const Instruction& i) {
  const std::span<const std::byte> all = t.frames.empty() ? t.block->launch().parameters : t.parameters;
  const std::uint64_t at = static_cast<std::uint32_t>(t.slots[i.address] + static_cast<std::uint64_t>(i.offset));
  const auto width = static_cast<std::size_t>(bytes_of(i.type));
  if (at + width * i.vector > all.size())
    throw Fault(t, fmt::format("reads {} bytes at {} of {} bytes of parameters", width * i.vector, at, all.size()));
  std::uint64_t values[kMostValues] = {};
  const std::size_t words = i.type == Type::b128 ? 2 : 1;
  for (std::size_t k = 0; k < i.vector; ++k) std::memcpy(values + k * words, all.data() + at + k * width, width);
  put(t, i, values);
}

template <class Memory>
void Machine<Memory>::load(Thread& t, const Instruction& i) {
  if (i.space == Space::param) return load_parameter(t, i);
  const std::uint64_t from = address(t, i);
  check_alignment(t, i, from);
  std::uint64_t values[kMostValues] = {};
  memory_.load(t, i, from, values);
  put(t, i, values);
}

template <class Memory>
void Machine<Memory>::store(Thread& t, const Instruction& i) {
  if (i.space == Space::param) throw Fault(t, "a store to parameters");
  const std::uint64_t to = address(t, i);
  check_alignment(t, i, to);
  std::uint64_t values[kMostValues];
  take(t, i, values);
  memory_.store(t, i, to, values);
}

template <class Memory>
void Machine<Memory>::atomic(Thread& t, const Instruction& i) {
  const std::uint64_t at = address(t, i);
  check_alignment(t, i, at);
  const std::uint64_t old = memory_.atomic(t, i, at, t.slots[i.from[0]], i.from_count > 1 ? t.slots[i.from[1]] : 0);
  if (i.to_count != 0) t.slots[i.to[0]] = extended(old, i.type);
}

template <class Memory>
void Machine<Memory>::multimem(Thread& t, const Instruction& i) {
  const std::uint64_t at = address(t, i);
  check_alignment(t, i, at);
  std::uint64_t values[kMostValues] = {};
  if (i.kind == Kind::multimem_load) {
    memory_.multimem_load(t, i, at, values);
    return put(t, i, values);
  }
  take(t, i, values);
  if (i.kind == Kind::multimem_store) return memory_.multimem_store(t, i, at, values);
  memory_.multimem_reduce(t, i, at, values);
}

template <class Memory>
void Machine<Memory>::convert_address(Thread& t, const Instruction& i) const {
  const std::uint64_t value = t.slots[i.from[0]];
  std::uint64_t base = 0, bytes = 0;
  switch (i.space) {
    case Space::shared:
      base = reinterpret_cast<std::uint64_t>(t.block->shared().data());
      bytes = t.block->shared().size();
      break;
    case Space::local:
      base = reinterpret_cast<std::uint64_t>(t.block->local(t).data());
      bytes = t.block->local(t).size();
      break;
    case Space::param:
      base = reinterpret_cast<std::uint64_t>(t.block->launch().parameters.data());
      bytes = t.block->launch().parameters.size();
      break;
    case Space::generic:
    case Space::global:
    case Space::constant: break;
  }
  if (i.kind == Kind::to_generic) {
    t.slots[i.to[0]] = value + base;
  } else if (i.kind == Kind::from_generic) {
    t.slots[i.to[0]] = value - base;
  } else {
    const auto inside = [value](std::span<const std::byte> space) {
      const auto begin = reinterpret_cast<std::uint64_t>(space.data());
      return value >= begin && value - begin < space.size();
    };
    const bool elsewhere = inside(t.block->shared()) || inside(t.block->stack());
    t.slots[i.to[0]] = i.space == Space::global ? !elsewhere : base != 0 && value >= base && value - base < bytes;
  }
}

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
void Machine<Memory>::call(Thread& t, const Instruction& i) {
  const CallSite& site = t.function->calls[static_cast<std::size_t>(i.target)];
  if (site.callee.empty()) throw Fault(t, "an indirect call, which the emulator does not have");
  const std::span<std::byte> frame = t.block->local(t).subspan(t.local);
  const Module& module = *t.block->launch().image->module;
  const Function* const callee = module.contains(site.callee) ? &module.function(site.callee) : nullptr;
  if (!callee || !callee->defined) {
    const std::uint64_t result = call_provided(t, site, frame);
    if (!site.results.empty())
      std::memcpy(frame.data() + site.results[0].offset, &result, std::min<std::size_t>(8, site.results[0].bytes));
    ++t.next;
    return;
  }
  std::vector<std::byte> parameters(callee->parameter_bytes);
  for (std::size_t k = 0; k < site.arguments.size(); ++k)
    std::memcpy(parameters.data() + callee->parameters[k].offset, frame.data() + site.arguments[k].offset,
                callee->parameters[k].bytes);
  const std::uint32_t local = (t.local + t.function->local_bytes + 15) / 16 * 16;
  if (local + callee->local_bytes > t.block->local(t).size()) throw Fault(t, "the stack is full");
  t.frames.push_back({t.function, t.next, t.slots, t.local, std::move(t.parameters),
                      std::make_unique<std::uint64_t[]>(callee->slots)});
  t.parameters = std::move(parameters);
  t.local = local;
  t.slots = t.frames.back().called.get();
  t.block->begin(t, *callee);
}

template <class Memory>
void Machine<Memory>::leave(Thread& t) {
  Frame frame = std::move(t.frames.back());
  t.frames.pop_back();
  const CallSite& site =
      frame.function
          ->calls[static_cast<std::size_t>(frame.function->code[static_cast<std::size_t>(frame.next)].target)];
  std::byte* const stack = t.block->local(t).data();
  for (std::size_t k = 0; k < site.results.size(); ++k)
    std::memcpy(stack + frame.local + site.results[k].offset, stack + t.local + t.function->results[k].offset,
                t.function->results[k].bytes);
  t.function = frame.function;
  t.next = frame.next + 1;
  t.slots = frame.slots;
  t.local = frame.local;
  t.parameters = std::move(frame.parameters);
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
