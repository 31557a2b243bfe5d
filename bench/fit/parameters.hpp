// The numbers of a machine of CPUs that are fitted, and what the others are before anything was measured.
#pragma once
#include <span>

#include "bench/rows.hpp"
#include "kernels/machine.hpp"

namespace tutti::fit {

struct Parameter {
  const char* name;  ///< as in machine files
  double timed::Machine::*member;
  double least, most;  ///< beyond which it means nothing
};

std::span<const Parameter> parameters();

/// Whether the fit may change it: 0 means that there is no such thing.
inline bool is_fitted(const timed::Machine& machine, const Parameter& parameter) {
  return machine.*parameter.member > 0;
}

/// What is known of this machine's caches; 0 where the system does not tell.
struct CacheSizes {
  double core = 0, last = 0;
};
CacheSizes this_machines_caches();

/// Where the search begins: a common server of the 2020s, its cores near each other or far.
timed::Machine first_guess(int cores, const CacheSizes& caches, bench::Placement placement);

}  // namespace tutti::fit
