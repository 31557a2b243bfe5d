// How long a call would take on a machine, by the kernels themselves in virtual time. Predicted, never measured.
#pragma once
#include "bench/arguments.hpp"
#include "bench/sizes.hpp"
#include "kernels/cost.hpp"
#include "kernels/machine.hpp"

namespace tutti::predict {

/// In worlds of more ranks all blocks of a call are one block (of a double tree: two), as fast as all of them and with
/// their slots together: the blocks of a call do the same, side by side, each with a part of the data.
inline constexpr int kFoldedAbove = 128;

/// On GPUs calls of more bytes are reckoned from shorter ones, by what more bytes add: rounds through the same slots.
/// (Longer ones if so few bytes make few rounds.)
inline constexpr std::size_t kWholeUpTo = std::size_t{64} << 20;

struct Question {
  bench::Case c;  ///< with its ranks, which may be more than the machine has
  Algorithm algorithm = Algorithm::automatic;
  bench::MemoryKind memory = bench::MemoryKind::peer_mapped;
  int blocks = 0;  ///< GPUs: the most of a call; CPUs: those of every call. 0: as the library would run
  int folded_above = kFoldedAbove;
  std::size_t whole_up_to = kWholeUpTo;
};

struct Prediction {
  Algorithm algorithm = Algorithm::automatic;  ///< that runs
  int blocks = 1;
  double seconds = 0;     ///< of a call, on the slowest rank
  double wire_bytes = 0;  ///< of a call, over the busiest link one way (of a shared one, of all ranks together)
  double limit = 0;       ///< seconds that the fewest possible bytes need on that link; 0: no link has a rate
  Cost cost;              ///< by the kernel's formula
};

/// `machine`, as it would be with `ranks` ranks. Throws tutti::Error (unsupported) if the question's algorithm cannot
/// serve its call.
///
/// Calls follow one another on the same buffers until the state is warm. GPUs: back to back, as nccl-tests times them.
/// CPUs: each from a barrier, but for calls up to 4 KiB without a root, as bench does.
Prediction predict(const timed::Machine& machine, const Question& question);

}  // namespace tutti::predict
