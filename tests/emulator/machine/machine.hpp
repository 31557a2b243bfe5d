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

}  // namespace tutti::emulator

#include "tests/emulator/machine/machine_access.inl"
#include "tests/emulator/machine/machine_calls.inl"
#include "tests/emulator/machine/machine_waits.inl"
