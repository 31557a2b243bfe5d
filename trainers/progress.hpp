// How a run shows itself: one line that renews itself on a terminal, a plain line now and then elsewhere.
#pragma once
#include <chrono>
#include <cstdint>

namespace tutti::trainers {

/// True if standard output is a terminal. TUTTI_TERMINAL=0 or 1 decides if set: mpirun gives its ranks a terminal of
/// their own, whatever its own output is.
bool on_terminal();

class Progress {
 public:
  Progress(bool terminal, int epochs, std::int64_t steps, std::int64_t steps_per_epoch);
  /// After a step: `epoch` and `step` count from 1, `step` over all epochs; `rows` were in this batch.
  void step(int epoch, std::int64_t step, int rows, double loss);
  /// After an epoch, with its mean loss.
  void epoch(int epoch, std::int64_t step, double mean_loss);

 private:
  using Clock = std::chrono::steady_clock;
  void print(int epoch, std::int64_t step, const char* what, double loss, bool renew);

  bool terminal_;
  int epochs_;
  std::int64_t steps_;
  std::int64_t steps_per_epoch_;
  std::int64_t rows_ = 0;
  Clock::time_point start_ = Clock::now();
  Clock::time_point shown_ = start_;
};

}  // namespace tutti::trainers
