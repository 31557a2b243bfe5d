// Device memory that several ranks map, from when one lets go of it until it can be freed.
//
// Mapping, closing and freeing memory may wait for all kernels of the device, and a kernel may wait for a peer: one
// that then waits for this rank would wait for ever. So they happen only while no rank has a call in flight, and what
// is destroyed meanwhile is put aside for then. A rank's share is freed after every rank that maps it has closed it.
#pragma once
#include <compare>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <vector>

#include "collectives/bootstrap.hpp"
#include "collectives/segment_table.hpp"

namespace tutti::detail {

/// Names an allocation of several ranks, alike on all of them: who leads it, and its how many-th that is.
struct SegmentKey {
  std::int64_t leader = -1;
  std::uint64_t serial = 0;
  auto operator<=>(const SegmentKey&) const = default;
};

class RetiredMemory {
 public:
  using Thing = std::shared_ptr<void>;

  RetiredMemory() = default;
  RetiredMemory(const RetiredMemory&) = delete;
  RetiredMemory& operator=(const RetiredMemory&) = delete;
  /// Shares that a peer may still map go with the process.
  ~RetiredMemory();

  /// This rank begins to map the allocation, of the session's ranks `members`.
  void open(SegmentKey key);
  /// It needs its mappings no more: they are closed by the next `close`, and its own share is let go of after that.
  void retire(SegmentKey key, RankSet members, Thing share, std::vector<Thing> mappings);
  /// Lets go of `thing` with the next `close`.
  void keep(Thing thing);

  /// While no call of this rank is in flight.
  void close();
  /// Lets go of shares that nobody maps any more. After `close`; `members` has the session's rank of each of
  /// `bootstrap`'s. Collective over them.
  void free(Bootstrap& bootstrap, std::span<const int> members);

 private:
  struct Item {
    SegmentKey key;
    RankSet members;
    RankSet gone;  ///< those known to map it no more
    Thing share;
    std::vector<Thing> mappings;
    bool closed = false;
  };
  std::mutex mutex_;  // segments are destroyed by any thread
  std::set<SegmentKey> open_;
  std::vector<Item> items_;
  std::vector<Thing> things_;
};

}  // namespace tutti::detail
