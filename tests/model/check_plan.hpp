// How much `tutti check` tries of each kernel in each world, if nothing else is asked for.
#pragma once
#include <cstdint>

#include "tests/model/check_options.hpp"

namespace tutti::model {

/// Schedules of a kernel, so that all together take minutes on two cores; 0: it costs too much there.
std::uint64_t default_seeds(Kernel kernel, int ranks);

/// What the options ask for.
Work work_for(const Options& options);

}  // namespace tutti::model
