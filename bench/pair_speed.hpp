// How fast two ranks talk: measured with tutti's own send and receive.
#pragma once
#include <cstddef>

#include "collectives/tutti.hpp"

namespace tutti::bench {

/// Trivially copyable. Of the pair's lower rank; times in seconds, bandwidths in bytes/s.
struct PairSpeed {
  double latency = 0;  ///< half of a round trip of 8 bytes: median, least and most of the batches
  double latency_least = 0;
  double latency_most = 0;
  double bandwidth_up = 0;    ///< of messages from the lower rank to the higher: median of the batches
  double bandwidth_down = 0;  ///< and back
  long round_trips = 0;
  long messages = 0;
};

/// Measures the pair of ranks {a, b}, a < b, for about `seconds`; called by those two. `memory` holds `bytes` bytes, at
/// least 8, on both. Only a's result is filled.
PairSpeed measure_pair(Communicator& communicator, int a, int b, std::byte* memory, std::size_t bytes, double seconds);

}  // namespace tutti::bench
