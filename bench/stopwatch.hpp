// The lecture's way to measure: a warm-up, a barrier, the clock around one call.
#pragma once
#include <functional>
#include <vector>

#include "collectives/tutti.hpp"

namespace tutti::bench {

class Stopwatch {
 public:
  Stopwatch(Session& session, Communicator& comm, int samples) : session_(session), comm_(comm), samples_(samples) {}

  /// Median over the samples of the slowest rank's seconds for each of `calls`, which take turns; `prepare` runs before
  /// each, unmeasured. Collective.
  std::vector<double> times(const std::function<void()>& prepare, const std::vector<std::function<void()>>& calls);
  double time(const std::function<void()>& prepare, const std::function<void()>& call) {
    return times(prepare, {call}).front();
  }

 private:
  Session& session_;
  Communicator& comm_;
  int samples_;
};

}  // namespace tutti::bench
