// The session's live segments: where each rank's share is mapped here, by index, for the kernels and for look-ups.
#pragma once
#include <bitset>
#include <memory>
#include <mutex>
#include <vector>

#include "collectives/segments.hpp"
#include "kernels/connection.hpp"

namespace tutti {

/// Threads may look up, add and remove at the same time. Kernels read `bases` without a lock: a row is written while no
/// kernel can resolve it, so added before a call can name it, removed under the driver's lock.
class SegmentTable {
 public:
  explicit SegmentTable(int ranks)
      : ranks_(ranks), bases_(static_cast<std::size_t>(kMaxSegments) * static_cast<std::size_t>(ranks)) {}

  /// Gives `segment` an index that is free on every rank. Collective. Throws on all ranks alike if there is none.
  int add(Bootstrap& bootstrap, const SharedSegment& segment);
  void remove(int index);

  /// [index][rank]; the address stays the same.
  char* const* bases() const { return bases_.data(); }

  /// The place of [pointer, pointer + bytes) if it lies within one live segment of this rank; else not mapped.
  Place find(const void* pointer, std::size_t bytes) const;

 private:
  struct Own {
    const char* begin;
    const char* end;
    int index;
  };
  int ranks_;
  mutable std::mutex mutex_;
  std::vector<char*> bases_;
  std::bitset<kMaxSegments> used_;
  std::vector<Own> own_;
};

}  // namespace tutti
