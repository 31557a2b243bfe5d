// Where the harness's ranks meet: its own barrier, independent of everything it measures, and the distance of the
// cores.
#pragma once
#include <cstdint>
#include <memory>

#include "collectives/bootstrap.hpp"
#include "collectives/segments.hpp"

namespace tutti::bench {

/// All members are collective.
class MeetingPoint {
 public:
  explicit MeetingPoint(Bootstrap& bootstrap);

  /// Returns when every rank has called it. Spins; yields at once if there are more ranks than cores.
  void barrier();

  /// How far apart two cores are at this moment: nanoseconds in which ranks 0 and 1 tell each other that they are
  /// there, both writing one flag and reading the other (the fastest of several tries). The other ranks sleep
  /// meanwhile. If there are more ranks than cores, the two are put on different cores for the measurement. 0 where
  /// there are no two.
  double exchange_ns();

 private:
  std::uint64_t& line(int rank, int index);
  void wait_for(std::uint64_t& flag, std::uint64_t count);
  double exchange(int me);

  int rank_;
  int size_;
  int free_polls_;
  std::uint64_t meetings_ = 0;
  std::uint64_t exchanges_ = 0;
  std::uint64_t measurements_ = 0;
  std::shared_ptr<SharedSegment> segment_;
};

}  // namespace tutti::bench
