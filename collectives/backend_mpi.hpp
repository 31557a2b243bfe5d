// The MPI backend with a knob for its tests.
#pragma once
#include <climits>
#include <memory>

#include "collectives/backend.hpp"

namespace tutti {

/// mpi_backend, but no MPI call covers more than `largest_count` elements over all ranks, so that small tests reach
/// what counts beyond INT_MAX need. At least the world size.
std::unique_ptr<Backend> mpi_backend_in_pieces(Bootstrap& bootstrap, std::size_t largest_count);

}  // namespace tutti
