// The moves of a trace, done again with cells.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "bench/explain/messages.hpp"
#include "bench/explain/recording.hpp"
#include "bench/explain/story.hpp"

namespace tutti::explain {

/// A word, or its part for one peer, that copies or adds.
struct Move {
  Action action;          ///< without its text
  std::size_t event = 0;  ///< of the trace
  int before = 0;         ///< messages that came before it, one after the other
};

struct Replay {
  std::vector<Row> rows;    ///< as Story has them
  std::vector<Move> moves;  ///< in the order in which they have their effect, which goes with `before`
  std::map<int, std::vector<std::vector<Cell>>> after;  ///< [before][row] cells after the moves with so many messages
  double most_bytes = 0;                                ///< that one rank sent, or received: payload that crossed
  std::string wrong;  ///< what differs from the memory after the run, or from what the call should give; or nothing
};

/// Throws bench::ArgumentError if the kernel cuts cells.
Replay replay(const Recording& recording, const Chains& chains);

}  // namespace tutti::explain
