// Who told whom that it may go on, and how many messages came before each word.
#pragma once
#include <cstddef>
#include <vector>

#include "bench/explain/story.hpp"
#include "kernels/trace.hpp"

namespace tutti::explain {

/// A flag, or the tags of packets, from one block to a peer's.
struct Told {
  Message message;
  std::size_t by = 0;  ///< the event that sent it
  int heard_by = -1;   ///< the event that waited for it first; -1: none
};

struct Chains {
  std::vector<Told> told;   ///< by the event that sent it, then by receiver
  std::vector<int> before;  ///< [event] messages before it, one after the other
  std::vector<int> after;   ///< [event] the same when it had what it waited for
  int longest = 0;
};

/// Follows the flags of a call through its trace. `ranks` of the communicator.
Chains chains_of(const timed::Trace& trace, int ranks);

}  // namespace tutti::explain
