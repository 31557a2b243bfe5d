// The one line that says what went wrong in a call.
#pragma once
#include <chrono>

#include "collectives/error.hpp"
#include "kernels/block_host.hpp"

namespace tutti {

/// `boards` answers what a rank last said it was doing.
Error explain(const Failure& failure, const Call& call, int rank, std::chrono::nanoseconds timeout,
              const Connections& arenas);

}  // namespace tutti
