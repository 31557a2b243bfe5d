// Memory as the checker sees it: the newest value of everything lies in host memory; beside it stand who accessed what
// when (races), the older values that a strong load may still return (histories), and what each thread knows of the
// others (clocks).
//
// What may happen is what the PTX memory model allows, with these exceptions, which only make it find less:
//   - A write takes its place in the coherence order when it is done, and a load never returns a value that is written
//     later: reorderings as in 2+2W and load buffering do not occur.
//   - A read-modify-write reads the newest value, whatever its order.
// What is required beyond the model:
//   - Strong accesses that overlap without being of the same bytes must be ordered.
//   - Who has read a relaxed write, without a release and an acquire, must not touch the same bytes by weak accesses;
//     the model lets the observation of that very write order them.
//
// Vector accesses and 128-bit scalars are sets of scalars of at most 64 bits, in no order: other threads may run
// between the scalars of a strong store. Accesses through multimem count as accesses of each replica with their order
// and scope; the weak ones are a proxy of their own, which no barrier and no flag orders with plain accesses of the
// replicas on a GPU (PTX ISA, "Proxies"): that is not checked, only that happens-before orders them. Local memory is
// its thread's alone; it is not checked for uninitialised reads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/emulator/check/memory_allocations.hpp"
#include "tests/emulator/machine/block.hpp"

namespace tutti::emulator {

/// Satisfies the Memory of Machine. One run after another, each begun by Schedule.
class CheckedMemory {
 public:
  struct Settings {
    /// How probably a strong load does not insist on the newest value, on average: each run draws none, half, the
    /// same, or two and a half times that.
    double staleness = 0.3;
    std::uint32_t stale_run = 8;  ///< so many older values a thread gets in a row at most
  };
  struct Counts {
    std::uint64_t strong_loads = 0, stale_loads = 0, strong_stores = 0;
    std::uint64_t torn_loads = 0;  ///< strong vector loads whose elements come from different stores
  };

  explicit CheckedMemory(Settings settings);
  CheckedMemory() : CheckedMemory(Settings{}) {}
  ~CheckedMemory();
  CheckedMemory(const CheckedMemory&) = delete;
  CheckedMemory& operator=(const CheckedMemory&) = delete;

  // ---- what there is: told before a run (or between works of a stream), kept for later runs ----

  /// Nothing else may be accessed. Throws std::runtime_error if it overlaps another that is not freed.
  void add(const Allocation& allocation);
  /// Variables of a module on the device of a rank. Initialised.
  void add_variables(const Image& image, int rank, int device);
  /// Accesses from now on are errors.
  void free(const void* begin);
  /// The host has given these bytes a value before each run.
  void initialise(const void* begin, std::size_t bytes);
  /// Ranges must not overlap. What has no name is named by its allocation.
  void name(const NamedRange& range);
  void add(const MulticastWindow& window);
  /// Forgets all of the above.
  void clear();

  // ---- a run: called by Schedule ----

  /// A stream's threads have the ids `first_id + block * threads + index`; the host's has the last one. Blocks of later
  /// launches have the ids of earlier ones: they come after them.
  struct StreamShape {
    int rank = 0, device = 0;
    std::uint32_t blocks = 0, threads = 0;  ///< the most of any launch
    std::uint32_t first_id = 0;             ///< set by begin_run
  };
  void begin_run(std::uint64_t seed, std::span<StreamShape> streams);
  void begin_launch(int stream, const Launch& launch);
  void begin_block(int stream, Block& block);
  void end_thread(Thread& thread);
  void end_block(int stream, Block& block);
  void end_launch(int stream);
  /// Throws Found for what has been found but could have been explained by something worse: uninitialised reads. At the
  /// end of a run, and before a hang or a fault is told.
  void tell_pending() const;
  /// The host reads or writes bytes, in the order of the stream: between begin_launch and end_launch never.
  void host_access(int stream, const void* begin, std::size_t bytes, bool write);

  /// Whether the thread polls: it has read nothing but values it knows, the newest ones, in a circle.
  bool polls(std::uint32_t thread) const;
  /// Lets it poll on.
  void let_poll(std::uint32_t thread);
  /// Threads that polled what has been written since the last call; cleared by the caller.
  std::vector<std::uint32_t>& woken();
  /// Blocks with a barrier that is complete since the last call; cleared by the caller.
  std::vector<Block*>& released();
  /// "0x1 in flag `data, from rank 0' (arena of rank 1 + 128), at ring_all_reduce at PTX line 20 (...)": what the
  /// thread last read by a strong load, and where; "nothing" if it has not.
  std::string last_read(const Thread& thread) const;
  /// "rank 1 block 0 thread 3 of ring_all_reduce at PTX line 17 (ring.hpp:40): st.release..." for where it is.
  std::string describe(const Thread& thread) const;
  const Counts& counts() const;

  // ---- the Memory of Machine ----

  void load(Thread& thread, const Instruction& instruction, std::uint64_t address, std::uint64_t* values);
  void store(Thread& thread, const Instruction& instruction, std::uint64_t address, const std::uint64_t* values);
  std::uint64_t atomic(Thread& thread, const Instruction& instruction, std::uint64_t address, std::uint64_t operand,
                       std::uint64_t next);
  void multimem_load(Thread& thread, const Instruction& instruction, std::uint64_t address, std::uint64_t* values);
  void multimem_store(Thread& thread, const Instruction& instruction, std::uint64_t address,
                      const std::uint64_t* values);
  void multimem_reduce(Thread& thread, const Instruction& instruction, std::uint64_t address,
                       const std::uint64_t* values);
  void fence(Thread& thread, const Instruction& instruction);
  void proxy_fence(Thread& thread, const Instruction& instruction);
  void barrier_arrive(Thread& thread, int index);
  void barrier_complete(Block& block, int index);
  void warp_barrier(std::span<Thread> warp, std::uint32_t mask);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace tutti::emulator
