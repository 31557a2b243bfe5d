// Where the harness's ranks meet: its own barrier, independent of everything it measures, and what some of them measure
// while the others sleep: the distance of the cores, the hand-over of a core.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

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

  /// Nanoseconds in which ranks 0 and 1, put on one core, hand it over by yielding (the fastest of several tries).
  double hand_over_ns();

  /// What the first `ranks` ranks measure at once, while the others sleep: the most that one of them returns. If there
  /// are more ranks in all than cores, but not more than cores among the first, each of these is on a core of its own.
  double most_of(int ranks, const std::function<double()>& measurement);
  /// Within a measurement: returns when all that take part have called it.
  void meet();

 private:
  std::uint64_t& line(int rank, int index);
  void wait_for(std::uint64_t& flag, std::uint64_t count, int free_polls);
  double exchange();
  double measured(int ranks, std::optional<int> core, int free_polls, const std::function<double()>& measurement);

  int rank_;
  int size_;
  int free_polls_;
  int taking_part_ = 0;         // in the measurement
  int free_polls_of_meet_ = 0;  // before a yield
  std::uint64_t meetings_ = 0;
  std::uint64_t meets_ = 0;
  std::uint64_t measurements_ = 0;
  std::shared_ptr<SharedSegment> segment_;
};

}  // namespace tutti::bench
