// The rates that bounds are made of, measured between the rounds of a race.
#pragma once
#include <memory>
#include <vector>

#include "bench/arguments.hpp"
#include "bench/bound.hpp"
#include "bench/meeting_point.hpp"
#include "kernels/host_loops.hpp"

namespace tutti::bench {

/// The two buffers of a rank in one kind of memory, each large enough for any case of the run.
struct Memory {
  MemoryKind kind;
  std::byte* in;
  std::byte* out;
};

/// Of CPUs, with fresh buffers. All members are collective.
class Limits {
 public:
  /// `bytes`: the largest size of the run. `meeting` and `memories` outlive it.
  Limits(Bootstrap& bootstrap, MeetingPoint& meeting, const std::vector<Memory>& memories, std::size_t bytes);

  /// Seconds that a call of `c` takes at least on this kind of memory, now; 0 if the run has none of that kind.
  /// `exchange_ns`: of the cores, now. Overwrites the buffers.
  double bound(const Case& c, MemoryKind kind, double exchange_ns);

 private:
  double crossing(std::size_t bytes);
  double local(const Case& c, const LeastWork& work, const Memory& memory);
  double local(const Case& c, const LeastWork& work, const Memory& memory, host::Stores stores);

  MeetingPoint& meeting_;
  const std::vector<Memory>& memories_;
  int rank_, size_, cores_;
  double clock_;  // seconds that asking the time twice takes
  std::uint64_t turn_ = 0;
  std::shared_ptr<SharedSegment> segment_;  // what one core writes and another reads
};

}  // namespace tutti::bench
