#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/emulator/machine/direct_memory.hpp"
#include "tests/emulator/runtime/faults.hpp"
#include "tests/emulator/runtime/memory.hpp"

namespace tutti::emulated {

/// A kernel touched what it may not.
class IllegalAddress : public emulator::Fault {
 public:
  using Fault::Fault;
};

/// What the kernels of one launch find at an address: every access is looked up among the allocations, and goes where
/// the host sees them. For one thread of the host.
class KernelMemory {
 public:
  explicit KernelMemory(int device) : device_(device), replicas_{device}, direct_(replicas_) {}

  /// Accesses so far that may have changed something: a round of all threads without any is only waiting.
  std::uint64_t changes() const { return changes_; }

  void load(emulator::Thread& t, const emulator::Instruction& i, std::uint64_t from, std::uint64_t* values) {
    direct_.load(t, i, place(t, i, from, false), values);
  }
  void store(emulator::Thread& t, const emulator::Instruction& i, std::uint64_t to, const std::uint64_t* values) {
    ++changes_;
    const std::uint64_t there = place(t, i, to, true);
    if (watches_stores_ && of_peer_ && !store_into_peer(i.strong())) return;
    direct_.store(t, i, there, values);
  }
  std::uint64_t atomic(emulator::Thread& t, const emulator::Instruction& i, std::uint64_t at, std::uint64_t operand,
                       std::uint64_t next) {
    const std::uint64_t old = direct_.atomic(t, i, place(t, i, at, true), operand, next);
    const auto operation = static_cast<emulator::AtomicOperation>(i.operation);
    const bool takes_old = operation == emulator::AtomicOperation::compare_and_swap;
    const bool puts = operation == emulator::AtomicOperation::exchange;
    if (takes_old ? old == operand : puts ? old != operand : operand != 0) ++changes_;
    return old;
  }
  void multimem_load(emulator::Thread& t, const emulator::Instruction& i, std::uint64_t from, std::uint64_t* values) {
    direct_.multimem_load(t, i, from, values);
  }
  void multimem_store(emulator::Thread& t, const emulator::Instruction& i, std::uint64_t to,
                      const std::uint64_t* values) {
    ++changes_;
    direct_.multimem_store(t, i, to, values);
  }
  void multimem_reduce(emulator::Thread& t, const emulator::Instruction& i, std::uint64_t at,
                       const std::uint64_t* values) {
    ++changes_;
    direct_.multimem_reduce(t, i, at, values);
  }
  void fence(emulator::Thread& t, const emulator::Instruction& i) { direct_.fence(t, i); }
  void proxy_fence(emulator::Thread& t, const emulator::Instruction& i) { direct_.proxy_fence(t, i); }
  void barrier_arrive(emulator::Thread&, int) {}
  void barrier_complete(emulator::Block&, int) { ++changes_; }
  void warp_barrier(std::span<emulator::Thread>, std::uint32_t) {}

 private:
  /// Addresses have been looked up when DirectMemory sees them.
  struct Replicas {
    void check(const emulator::Thread&, const emulator::Instruction&, std::uint64_t, std::uint64_t, bool) {}
    template <class F>
    void for_each_replica(const emulator::Thread& t, const emulator::Instruction& i, std::uint64_t address, F f) {
      for (const std::uintptr_t replica : replicas_at(t, i, address, device)) f(replica);
    }
    int device;
  };
  /// Where the host finds the memory of all GPUs behind a multicast address.
  static std::vector<std::uintptr_t> replicas_at(const emulator::Thread& t, const emulator::Instruction& i,
                                                 std::uint64_t address, int device);

  /// What was found lately.
  struct Known {
    std::uint64_t begin = 1, end = 0;
    std::uint64_t distance = 0;  ///< from the program's addresses to the host's
    bool may_write = false;
    bool of_peer = false;  ///< memory of another process, or of another device
  };

  std::uint64_t place(const emulator::Thread& t, const emulator::Instruction& i, std::uint64_t address, bool write) {
    if (i.space != emulator::Space::global && i.space != emulator::Space::generic &&
        i.space != emulator::Space::constant)
      return of_peer_ = false, address;
    const std::uint64_t bytes = static_cast<std::uint64_t>(emulator::bytes_of(i.type)) * i.vector;
    const std::uint64_t now = AllocationTable::instance().generation();
    if (now == generation_)
      for (const Known& known : known_)
        if (address >= known.begin && address + bytes <= known.end && (known.may_write || !write))
          return of_peer_ = known.of_peer, address + known.distance;
    return look_up(t, i, address, bytes, write, now);
  }
  std::uint64_t look_up(const emulator::Thread& t, const emulator::Instruction& i, std::uint64_t address,
                        std::uint64_t bytes, bool write, std::uint64_t now);

  const int device_;
  const bool watches_stores_ = faults_of_stores();
  bool of_peer_ = false;  ///< is the place that was looked up last
  Replicas replicas_;
  emulator::DirectMemory<Replicas> direct_;
  std::uint64_t changes_ = 0;
  std::uint64_t generation_ = 0;
  std::array<Known, 4> known_{};
  std::size_t next_known_ = 0;
};

}  // namespace tutti::emulated
