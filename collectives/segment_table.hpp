// The session's live segments: where each rank's share is mapped here, by index, for the kernels and for look-ups.
#pragma once
#include <bitset>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "collectives/segments.hpp"
#include "kernels/connection.hpp"

namespace tutti {

/// Ranks of the session, one bit each.
using RankSet = std::uint64_t;
static_assert(kMaxRanks <= 64);
inline RankSet set_of(std::span<const int> ranks) {
  RankSet set = 0;
  for (const int rank : ranks) set |= RankSet{1} << rank;
  return set;
}

/// A segment may belong to some of the ranks; others may use its index for another.
///
/// One thread at a time adds; others may look up and remove meanwhile. Kernels read `bases` without a lock: a row is
/// written while no kernel can resolve it, so added before a call can name it, removed under the driver's lock.
class SegmentTable {
 public:
  explicit SegmentTable(int ranks)
      : ranks_(ranks), bases_(static_cast<std::size_t>(kMaxSegments) * static_cast<std::size_t>(ranks)) {}

  /// Gives `segment`, of the ranks of `bootstrap`, an index that is free on each; `members` has the session's rank of
  /// each. Collective over them. Throws on all alike if there is none.
  int add(Bootstrap& bootstrap, std::span<const int> members, const SharedSegment& segment);
  void remove(int index);

  /// [index][session's rank]; the address stays the same.
  char* const* bases() const { return bases_.data(); }
  int ranks() const { return ranks_; }

  /// The place of [pointer, pointer + bytes) if it lies within one live segment of this rank that all of `readers` map;
  /// else not mapped.
  Place find(const void* pointer, std::size_t bytes, RankSet readers) const;

  /// Where a switch reaches `place` of all of `ranks` at once; null if it does not, or other ranks too, or if it is no
  /// multiple of 16.
  char* multicast_of(Place place, RankSet ranks) const;

 private:
  struct Own {
    const char* begin;
    const char* end;
    int index;
    RankSet members;
    char* multicast;
  };
  int ranks_;
  mutable std::mutex mutex_;
  std::vector<char*> bases_;
  std::bitset<kMaxSegments> used_;
  std::vector<Own> own_;
};

}  // namespace tutti
