// Do the parallel trainers train what the serial one trains?
#pragma once
#include <string>
#include <vector>

namespace tutti::bench {

/// One training run, as tutti-train --json writes it.
struct TrainingRun {
  std::string name;  ///< serial, data, tensor or pipeline
  std::vector<double> losses;
  double accuracy = 0;  ///< 0 .. 1
  double seconds = 0;
};

/// Throws std::runtime_error with one line that names the file if it is no result of a training run with a test set.
TrainingRun read_training_run(const std::string& file);

/// What the comparison found.
struct Comparison {
  std::string text;  ///< for people
  bool good = false;
};

/// The first run is the one that the others must agree with: the first 20 losses within 1e-3 (relative), the final
/// accuracy within 0.5 points, and every accuracy at least 87.5 %.
Comparison compare(const std::vector<TrainingRun>& runs);

}  // namespace tutti::bench
