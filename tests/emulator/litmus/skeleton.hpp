// What all executions of one path have in common: the relations that do not depend on what reads return.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "tests/emulator/litmus/events.hpp"
#include "tests/emulator/litmus/relation.hpp"

namespace tutti::emulator::litmus {

/// A release pattern: a write that another thread may observe, and the operation with which the pattern begins (the
/// write itself, an earlier release of the same location, or an earlier fence).
struct ReleasePattern {
  int first, write;
};
/// An acquire pattern: a read, and the operation with which the pattern ends (the read itself, a later acquire of the
/// same location, or a later fence).
struct AcquirePattern {
  int read, last;
};

struct Skeleton {
  /// Both live as long as this.
  Skeleton(const Program& program, const Path& path);

  const Event& event(int i) const { return path.events[static_cast<std::size_t>(i)]; }
  int events() const { return static_cast<int>(path.events.size()); }
  /// Whether two events access a byte in common.
  bool overlap(int a, int b) const;

  const Program& program;
  const Path& path;
  Relation program_order;
  Relation order_per_location;  ///< program order between overlapping accesses
  Relation fixed_order;         ///< program order, barriers, ends of kernels
  Relation fixed_causality;     ///< the same, transitively closed
  Relation morally_strong;
  Relation depends;  ///< from reads to what rests on them
  std::vector<ReleasePattern> releases;
  std::vector<AcquirePattern> acquires;
  std::vector<std::pair<int, int>> fences;    ///< morally strong fence.sc of different threads
  std::vector<std::pair<int, int>> writes;    ///< morally strong overlapping writes of different threads
  std::vector<std::pair<int, int>> suspects;  ///< conflicting, of different threads, not morally strong
  std::vector<std::vector<int>> writers;      ///< of each cell
};

}  // namespace tutti::emulator::litmus
