// The one line that says what went wrong in a call on the GPU.
#pragma once
#include <chrono>
#include <span>

#include "collectives/error.hpp"
#include "kernels/failure_cuda.hpp"

namespace tutti {

/// What the kernels' records ([block][peer], of which at least one is written) amount to: a mismatch explains more than
/// a time-out, that more than a peer that failed first.
Error explain(std::span<const FailureRecord> records, int rank, int ranks, std::chrono::nanoseconds timeout);

}  // namespace tutti
