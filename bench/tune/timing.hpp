// What calls took, or would take, by each algorithm.
#pragma once
#include <cstddef>
#include <vector>

#include "bench/arguments.hpp"
#include "bench/rows.hpp"
#include "collectives/choose.hpp"

namespace tutti::tune {

/// One algorithm at one size.
struct Timing {
  const Implementation* of = nullptr;  ///< of a message: the send
  bench::Case c;
  bench::MemoryKind memory = bench::MemoryKind::peer_mapped;
  bench::Placement placement = bench::Placement::unknown;
  double seconds = 0;
};

/// What a library would be asked to do for `c`.
inline Request request_of(const bench::Case& c, Collective collective) {
  return {.collective = collective, .count = c.count, .type = c.type, .op = c.op, .peer = c.root};
}

}  // namespace tutti::tune
