// Device memory that several ranks map, from when one lets go of it until it can be freed.
//
// Freeing memory may wait for all kernels of the process or of the device, and a kernel may wait for a peer: one that
// then waits for this rank would wait for ever. So memory is freed only where all ranks are known to have no call in
// flight, and what is destroyed meanwhile is put aside for then. To close what is mapped of another process may wait
// for this rank's own kernels only. A rank's share is freed after every rank that maps it has closed it.
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
  /// What a rank has of an allocation.
  struct Holding {
    std::vector<Thing> mappings;  ///< of shares of other processes
    Thing share;                  ///< its own, if others map it without holding it
    std::vector<Thing> handed;    ///< threads: everyone's shares, which live as long as anyone holds them
  };

  RetiredMemory() = default;
  RetiredMemory(const RetiredMemory&) = delete;
  RetiredMemory& operator=(const RetiredMemory&) = delete;
  /// Shares that a peer may still map go with the process.
  ~RetiredMemory();

  /// This rank begins to map the allocation, of the session's ranks `members`.
  void open(SegmentKey key);
  /// It needs that no more: mappings are closed by the next `close`, shares let go of by a `free` after that.
  void retire(SegmentKey key, RankSet members, Holding holding);
  /// Lets go of `thing` with the next `free`.
  void keep(Thing thing);

  /// While no call of this rank is in flight.
  void close();
  /// Lets go of shares that nobody maps any more. After `close`, while no rank of `bootstrap` has a call in flight;
  /// `members` has the session's rank of each. Collective over them; they must meet once more before they call.
  void free(Bootstrap& bootstrap, std::span<const int> members);

 private:
  struct Item {
    SegmentKey key;
    RankSet members;
    RankSet gone;  ///< those known to map it no more
    Holding holding;
    bool closed = false;
  };
  std::mutex mutex_;  // segments are destroyed by any thread
  std::set<SegmentKey> open_;
  std::vector<Item> items_;
  std::vector<Thing> things_;
};

}  // namespace tutti::detail
