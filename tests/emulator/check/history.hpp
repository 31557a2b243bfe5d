// The values that strong loads may return: for each location, its writes in coherence order.
//
// A location is a scalar of at most 8 bytes that is accessed by strong operations. A load may return any write that is
// not older than one that happens before the load, nor than one that a read which happens before it has returned.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "tests/emulator/check/clocks.hpp"
#include "tests/emulator/check/races.hpp"

namespace tutti::emulator {

/// The thread of values that were there before the first strong access.
inline constexpr ThreadId kNobody = 0xffffffff;

/// Who reads the write and acquires synchronises with this release, if the scopes allow.
struct Release {
  VectorClock clock;
  ThreadId thread = kNobody;
  std::uint8_t scope = 0;  ///< bits
};

struct Message {
  std::uint64_t value = 0;
  ThreadId thread = kNobody;
  Time time = 0;
  std::uint32_t instruction = 0;
  std::uint32_t step = 0;      ///< of the run; elements of one vector store have the same
  bool released_here = false;  ///< `releases` begins with one of this very write
  std::vector<Release> releases;
};

/// A thread has read a write.
struct Seen {
  ThreadId reader;
  Time time;
  std::uint32_t index;        ///< of the write
  std::uint32_t instruction;  ///< that read it last, or acquired it
};

struct Location {
  std::uint64_t address = 0;
  std::uint8_t width = 0, mask = 0;  ///< bytes; their bits in the granule
  std::uint32_t next = 0;            ///< another location in the granule; 0: none
  std::vector<Message> writes;
  std::size_t count = 0;  ///< of `writes` that are meant; the others keep their storage
  std::vector<Seen> seen;
  std::vector<ThreadId> pollers;  ///< to be woken by the next write
  std::size_t tidy_at = 0;        ///< when it has so many writes, those that nobody can read are dropped

  Message& newest() { return writes[count - 1]; }
};

/// What a thread may read.
struct Choice {
  std::uint32_t oldest;  ///< index of the oldest write
  Seen* own = nullptr;   ///< the newest that the thread itself has read, if any
};

class Histories {
 public:
  void begin_run();
  /// 0 is no location.
  Location& operator[](std::uint32_t index) { return locations_[index - 1]; }
  std::uint32_t count() const { return used_; }

  /// The location of these bytes, made if there is none with the value that memory holds. Others that overlap it are
  /// dropped: the caller knows that all their accesses that matter come before. Those who polled them are added to
  /// `woken`.
  Location& find(Granule& granule, std::uint64_t address, std::uint8_t width, bool& is_new,
                 std::vector<ThreadId>& woken);
  /// A weak write to these bytes is the only value from now on.
  void drop(Granule& granule, std::uint8_t mask, std::vector<ThreadId>& woken);

  Choice choice(Location& location, const Access& access) const;
  /// Appends a write; its value also goes to memory. Its releases are to be filled in.
  Message& append(Location& location, std::uint64_t value, const Access& access);
  /// Drops what lies before write `oldest`.
  static void forget_before(Location& location, std::uint32_t oldest);

 private:
  std::deque<Location> locations_;
  std::uint32_t used_ = 0;
};

}  // namespace tutti::emulator
