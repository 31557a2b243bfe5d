// What CheckedMemory consists of.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/emulator/check/history.hpp"
#include "tests/emulator/check/memory.hpp"
#include "tests/emulator/check/memory_code.hpp"
#include "tests/emulator/check/memory_threads.hpp"
#include "tests/emulator/check/report.hpp"

namespace tutti::emulator {

struct CheckedMemory::Parts {
  struct BlockState {
    Block* block = nullptr;  // while it runs
    int stream = 0;
    std::uint64_t index = 0;
    std::optional<Region> shared;
    struct Arrivals {
      VectorClock sum, last;
    };
    std::array<Arrivals, Block::kBarriers> arrivals;
  };
  struct StreamState {
    StreamShape shape;
    std::uint32_t first_block = 0;
    VectorClock known, ended;
    VectorClock launch_known;  // what its threads knew when the launch began
    ThreadId host() const { return shape.first_id + shape.blocks * shape.threads; }
  };
  /// An instruction that accesses memory, on its way.
  struct Step {
    Thread& thread;
    const Instruction& instruction;
    Access access;
    ThreadState& state;
    int rank;
  };
  /// The rest of a strong vector store: other threads may run between its scalars.
  struct UnfinishedStore {
    struct Piece {
      std::uint64_t address, value;
    };
    const Instruction* instruction;
    Region* region;
    std::uint32_t number, step;  ///< as in Access
    std::uint8_t bits;
    std::vector<Piece> pieces;  ///< the last comes first
  };
  struct RaceFacts;

  explicit Parts(Settings given) : settings(given) {}

  Settings settings;
  Counts counts;
  Threads threads;  // above all that holds clocks of its pool
  AddressMap map;
  RaceDetector races;
  Histories histories;
  CodeNumbers code;
  std::vector<StreamState> streams;
  std::vector<BlockState> blocks;
  std::vector<Shadow> spare_shadows;  // of shared memory
  std::vector<ThreadId> woken;
  std::vector<Block*> past_barrier;
  /// The first read of bytes that nobody had written; empty: none. It is told only if no race explains it by the end of
  /// the run, or before anything else that may follow from it.
  std::string unwritten;
  std::unordered_map<ThreadId, UnfinishedStore> unfinished;
  std::mt19937_64 random;
  double staleness = 0;  // of this run
  std::uint32_t generation = 0;
  std::uint32_t step = 0;  // counts strong writes

  // ---- memory.cpp: what an access does ----
  Step begin(Thread& thread, const Instruction& instruction, std::uint8_t bits);
  /// Where the bytes lie; null: memory that is not checked. Throws Found if they may not be accessed.
  Region* region(const Step& now, std::uint64_t address, std::size_t bytes);
  void weak(const Step& now, Region& region, std::uint64_t address, std::size_t bytes);
  std::uint64_t strong_load(const Step& now, Region& region, std::uint64_t address, std::uint8_t width);
  void strong_store(const Step& now, Region& region, std::uint64_t address, std::uint8_t width, std::uint64_t value,
                    const VectorClock& released);
  std::uint64_t exchange(const Step& now, Region& region, std::uint64_t address, std::uint64_t operand,
                         std::uint64_t next);
  void load(const Step& now, std::uint64_t address, std::uint64_t* values);
  void store(const Step& now, std::uint64_t address, const std::uint64_t* values);
  void store_pieces(const Step& now, UnfinishedStore& store, std::size_t count);
  void finish(Thread& thread);

  // ---- memory_strong.cpp ----
  Granule& touch(const Access& access, Region& region, std::uint64_t address, std::uint8_t mask);
  Location& location(const Step& now, Granule& granule, std::uint64_t address, std::uint8_t width);
  void note_read(const Step& now, Location& location, const Choice& choice, std::uint32_t index);
  void note_poll(const Step& now, Location& location, bool known);
  void take_releases(const Step& now, const Location& location, const Message& message, bool known);
  void give_releases(const Step& now, Location& location, Message& message, const VectorClock& released);
  void pass_releases_on(const Message& from, Message& to);
  void wake_pollers(Location& location);
  void tidy(Location& location);

  // ---- memory_report.cpp: what went wrong ----
  std::string place(std::uint64_t address) const;
  void note_unwritten(const Access& access, std::uint64_t address);
  void tell_unwritten() const;
  std::string who(ThreadId id) const;
  Defect classify(const RaceFacts& race);
  Defect missing_order(const RaceFacts& race);
  std::string describe(ThreadId id, std::uint32_t instruction, std::uint8_t bits) const;
  [[noreturn]] void fail(Defect defect, const Access& access, const std::string& what) const;
  [[noreturn]] void fail_race(const Access& access, const Granule& granule, std::uint64_t address, std::uint8_t mask,
                              const Record& other);
  [[noreturn]] void fail_region(const Step& now, std::uint64_t address, std::size_t bytes);
};

}  // namespace tutti::emulator
