// What `tutti check` shows: how far it is, what it found, and a summary.
#pragma once
#include <chrono>
#include <string>

#include "tests/model/check_options.hpp"
#include "tests/model/check_work.hpp"

namespace tutti::model {

/// How far the work is, on standard error: a line that changes on a terminal, elsewhere a line now and then.
class Progress {
 public:
  explicit Progress(std::uint64_t schedules);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(const Group& group, std::uint64_t done);

 private:
  using Clock = std::chrono::steady_clock;
  std::uint64_t schedules_;
  bool terminal_;
  Clock::time_point start_ = Clock::now(), shown_ = start_;
};

/// "ring_all_reduce, 7 ranks, ..., seed 3:", then what was found, so many lines of it.
std::string text_of(const Found& found, std::size_t most_lines = 100);

/// A row for each kernel and one of the sequences, their sums, and what was left out.
std::string summary_of(const Work& work, const Result& result, double seconds);

}  // namespace tutti::model
