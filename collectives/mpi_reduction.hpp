// Reductions that MPI cannot do as they are.
#pragma once
#include "collectives/backend.hpp"
#include "collectives/mpi_operation.hpp"

namespace tutti {

/// The reduction that MPI can do for `request`, with what has to follow it left to `operation`: averages are sums to be
/// divided, those of narrow types in wider ones, and an in-place reduce-scatter, which in MPI means another layout,
/// writes beside its input.
Request prepare_reduction(MpiOperation& operation, const Request& request, int rank, int ranks);

/// Whether `request`'s output is the input's chunk of `rank`, or the input the output's.
bool scattered_in_place(const Request& request, int rank);
bool gathered_in_place(const Request& request, int rank);

}  // namespace tutti
