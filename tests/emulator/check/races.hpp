// Data races: beside every 8 bytes of memory (a granule) stand the accesses that later ones may conflict with.
//
// Two accesses conflict if they touch a byte in common and one writes. They race unless one happens before the other,
// or both are strong and the scope of each includes the other's thread. Records are dropped when every later access
// that would race with them would also race with one that is kept:
//   - what a weak write covers, since it must come after all of that, and all later accesses after it;
//   - a read, for a weak read of the same bytes that it happens before;
//   - a strong access, for one of its kind, scope, block and bytes that it happens before;
//   - any access, for a later one of its thread, kind, scope and bytes.
// A strong write covers nothing: whoever reads it need not come after what came before it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/emulator/check/clocks.hpp"

namespace tutti::emulator {

/// What an access is, for its record: bits.
inline constexpr std::uint8_t kWrite = 1;
inline constexpr std::uint8_t kStrong = 2;
inline constexpr std::uint8_t kGpuScope = 4;      ///< of a strong one; neither: its block
inline constexpr std::uint8_t kSysScope = 8;      ///< of a strong one
inline constexpr std::uint8_t kNonCoherent = 16;  ///< a read that may see old bytes whatever happens before it
inline constexpr std::uint8_t kOverUnread = 32;   ///< a write over bytes that nobody has read since they were written
inline constexpr std::uint8_t kScopeBits = kGpuScope | kSysScope;

struct Record {
  std::uint32_t thread : 24, mask : 8;  // bytes of the granule
  Time time;
  std::uint32_t instruction : 24, bits : 8;
  std::uint32_t step;  // of the run, to tell what was done first

  bool writes() const { return (bits & kWrite) != 0; }
  bool strong() const { return (bits & kStrong) != 0; }
};
static_assert(sizeof(Record) == 16);

struct RecordList {
  Record first;
  std::uint32_t more;  // the others, in the pool
  std::uint16_t size, capacity;
};

struct alignas(64) Granule {
  std::uint32_t generation;  // of its memory's shadow; if it differs, nothing of the rest is meant
  std::uint32_t location;    // of strong accesses: see history.hpp; 0: none
  RecordList writes, reads;
  std::uint8_t initialised, unread;  // bytes
};
static_assert(sizeof(Granule) == 64);

/// Where a thread runs, for scopes; and since when.
struct Placement {
  std::uint32_t block = 0;
  int device = 0;
  Time first = 0;     ///< its time when its launch began
  bool live = false;  ///< its launch has not ended
};

inline bool includes(std::uint8_t scope_bits, const Placement& a, const Placement& b) {
  return (scope_bits & kSysScope) != 0 || a.block == b.block || ((scope_bits & kGpuScope) != 0 && a.device == b.device);
}

/// An access that is being made.
struct Access {
  ThreadId thread;
  Time time;
  std::uint32_t instruction;
  std::uint32_t step;
  std::uint8_t bits;
  const VectorClock* known;         ///< to the thread
  const VectorClock* launch_known;  ///< to the thread when its launch began

  bool after(const Record& record) const { return record.thread == thread || known->of(record.thread) >= record.time; }
};

class RaceDetector {
 public:
  /// Forgets all records. Placements are by thread; they must outlive the run.
  void begin_run(std::span<const Placement> placements) {
    placements_ = placements;
    pool_size_ = 0;
    for (auto& list : free_) list.clear();
  }

  /// The record that the access to these bytes of the granule races with, or null: the access is then recorded. Of the
  /// non-coherent reads also one that happens before the write, if its launch has not ended, and the other way round.
  const Record* access(Granule& granule, std::uint8_t mask, const Access& access) {
    return (access.bits & kWrite) != 0 ? write(granule, mask, access) : read(granule, mask, access);
  }

 private:
  const Record* read(Granule& granule, std::uint8_t mask, const Access& access);
  const Record* write(Granule& granule, std::uint8_t mask, const Access& access);
  bool races(const Record& record, std::uint8_t mask, const Access& access) const;
  bool read_too_early(const Record& record) const;
  bool is_covered(const Record& record, std::uint8_t mask, const Access& access) const;
  Record& at(RecordList& list, std::size_t index) { return index == 0 ? list.first : pool_[list.more + index - 1]; }
  void cover(RecordList& list, std::uint8_t mask);
  void add(RecordList& list, std::uint8_t mask, const Access& access);
  void make_room(RecordList& list, std::uint8_t mask, const Access& access);

  std::span<const Placement> placements_;
  std::vector<Record> pool_;
  std::size_t pool_size_ = 0;
  std::vector<std::uint32_t> free_[16];  // by log2 of the capacity
};

}  // namespace tutti::emulator
