// How long a wait may last.
#pragma once
#include <chrono>

namespace tutti {

/// TUTTI_TIMEOUT in seconds if set, else 600. Throws ErrorCode::invalid_argument if it is not a positive number.
double default_timeout_s();

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Deadline(double seconds)
      : end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}
  bool passed() const { return Clock::now() >= end_; }
  Clock::time_point end() const { return end_; }

 private:
  Clock::time_point end_;
};

}  // namespace tutti
