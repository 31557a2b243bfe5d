// What each thread of a run knows of the others, and how fences, barriers, releases and acquires hand that on.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/emulator/check/clocks.hpp"
#include "tests/emulator/check/history.hpp"
#include "tests/emulator/check/races.hpp"
#include "tests/emulator/machine/block.hpp"

namespace tutti::emulator {

/// Bits of a scope, for records.
constexpr std::uint8_t scope_bits(Scope scope) {
  if (scope == Scope::sys) return kSysScope;
  if (scope == Scope::gpu) return kGpuScope;
  return 0;  // a cluster is one block here
}

constexpr bool acquires(Order order) {
  return order == Order::acquire || order == Order::acq_rel || order == Order::seq_cst;
}
constexpr bool releases(Order order) {
  return order == Order::release || order == Order::acq_rel || order == Order::seq_cst;
}

struct ThreadState {
  VectorClock known;  ///< of the others
  Time time = 0;      ///< its own

  /// The last fence that releases, of each scope: block, GPU, system. A fence forgets the narrower ones.
  std::array<VectorClock, 3> fences;
  /// A release that a relaxed load has read: a fence, or an acquire of the same location, will synchronise with it.
  struct Pending {
    std::uint64_t address;
    Release release;
  };
  std::vector<Pending> pending;

  std::uint32_t stale_run = 0;  ///< loads in a row that did not return the newest value

  /// Reading values in a circle that it knows (Brent's cycle detection): where the circle may begin, what number of
  /// such loads this was, and after how many to look for another beginning.
  struct Poll {
    std::uint64_t address = 0;
    std::uint32_t instruction = 0;
    std::uint32_t loads = 0, next_mark = 1;
    bool closed = false;
  };
  Poll poll;

  std::uint64_t last_address = 0, last_value = 0;  ///< of its last strong load; 0: none
  std::uint32_t last_instruction = 0;
  std::uint32_t last_writer = 0;  ///< Message::step of what it read
};

class Threads {
 public:
  /// All know nothing.
  void begin_run(std::uint32_t threads);
  std::uint32_t count() const { return static_cast<std::uint32_t>(states_.size()); }
  ThreadState& operator[](ThreadId id) { return states_[id]; }
  const ThreadState& operator[](ThreadId id) const { return states_[id]; }
  Placement& placement(ThreadId id) { return placements_[id]; }
  const Placement& placement(ThreadId id) const { return placements_[id]; }
  std::span<const Placement> placements() const { return placements_; }
  VectorClockPool& clocks() { return clocks_; }

  /// All that the thread knows and has done, to be handed on; its time goes on.
  VectorClock release(ThreadId id);
  /// The same, joined into a clock. `last`: what was joined into it last, to be kept with it.
  void release_into(ThreadId id, VectorClock& sum, VectorClock& last);
  /// Synchronises with the release if both scopes include the other's thread.
  void acquire(ThreadId id, std::uint8_t scope, const Release& release);
  /// A relaxed load has read a write with this release.
  void read_relaxed(ThreadId id, std::uint64_t address, const Release& release);
  /// A load that acquires comes after relaxed loads of the same location.
  void acquire_pending(ThreadId id, std::uint8_t scope, std::uint64_t address);
  void fence(ThreadId id, Order order, std::uint8_t scope);

 private:
  bool synchronise(ThreadId id, std::uint8_t scope, const Release& release) const;
  void order_fences(ThreadId id, std::uint8_t scope);

  // What the sequentially consistent fences of one scope in one block (of one thread, for the widest: any) know.
  struct FenceOrder {
    std::uint8_t scope;
    ThreadId thread;
    VectorClock clock;
  };

  VectorClockPool clocks_;
  std::vector<ThreadState> states_;
  std::vector<Placement> placements_;
  std::vector<FenceOrder> fence_orders_;
};

}  // namespace tutti::emulator
