// A whole training run: data, trainer, epochs, evaluation.
#pragma once
#include <optional>
#include <stdexcept>
#include <vector>

#include "trainers/config.hpp"

namespace tutti::trainers {

struct RunResult {
  std::string backend;               ///< that carried the collectives; "none" for serial
  std::string device;                ///< that did the maths: cpu or gpu
  std::vector<double> losses;        ///< of the first 20 steps; on rank 0, as the next
  std::vector<double> epoch_losses;  ///< mean over each epoch's rows
  std::optional<double> accuracy;    ///< share of the test set, 0 .. 1; none for data without labels
  std::int64_t steps = 0;
  double seconds = 0;  ///< in steps, without reading data and evaluation
  double samples_per_second = 0;
  std::int64_t sent_bytes_per_step = 0;  ///< of rank 0
};

/// A loss that is infinite or not a number, of a step or after the last; what() names the step and says what to do.
struct Diverged : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Trains as `config` says; rank 0 prints. Every rank of `session` calls it with the same config, which refusal() must
/// have passed. The trainers use this rank's GPU if the session does. Under Parallel::serial ranks other than 0 return
/// at once with an empty result. Throws InputError on all ranks alike if the data cannot be read or a GPU not be used,
/// Diverged on all alike if a loss is not finite.
RunResult run(Session& session, const Config& config);

}  // namespace tutti::trainers
