// The tuning of a session: rank 0's, handed out to all.
#pragma once
#include "collectives/bootstrap.hpp"
#include "collectives/tuning.hpp"

namespace tutti {

/// The constants in rank 0's file, or those that are compiled in. `file`: SessionOptions::tuning; if it is empty, the
/// file that TUTTI_TUNING names; only rank 0's counts. `crowded`: see default_tuning. Collective; throws on all ranks
/// alike.
Tuning agreed_tuning(Bootstrap& bootstrap, const std::string& file, bool on_gpu, bool crowded);

}  // namespace tutti
