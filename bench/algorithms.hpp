// Which algorithms there are to measure.
#pragma once
#include <string>
#include <vector>

#include "bench/bandwidth.hpp"
#include "collectives/tutti.hpp"

namespace tutti::bench {

/// The collective that an operation consists of.
Collective collective_of(Operation operation);

/// Those that the native backend can be forced to use, in its order.
std::vector<Algorithm> algorithms_of(Operation operation);

/// Their names, for messages: "ring, tree".
std::string names_of(const std::vector<Algorithm>& algorithms);

}  // namespace tutti::bench
