// The one line that says what went wrong in a call.
#pragma once
#include <chrono>
#include <functional>

#include "collectives/error.hpp"
#include "kernels/block_host.hpp"

namespace tutti {

/// What a rank last said it was doing.
using LastSaid = std::function<Board(int rank)>;

/// `call` of `rank` failed so; `said` is asked about the peers that the failure names.
Error explain(const Failure& failure, const Call& call, int rank, std::chrono::nanoseconds timeout,
              const LastSaid& said);

}  // namespace tutti
