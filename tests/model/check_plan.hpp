// How much `tutti check` tries of each kernel in each world, if nothing else is asked for.
#pragma once
#include "tests/model/check_options.hpp"

namespace tutti::model {

/// What the options ask for.
Work work_for(const Options& options);

}  // namespace tutti::model
