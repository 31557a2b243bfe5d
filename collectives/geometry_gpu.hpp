// How a communicator's arena is cut, and how many blocks a call runs, on a GPU.
#pragma once
#include "collectives/choose.hpp"
#include "kernels/connection.hpp"

namespace tutti {

/// The most blocks of a collective.
inline constexpr int kGpuBlocks = 32;
static_assert(kGpuBlocks <= kMaxBlocks);

Geometry gpu_geometry(int ranks);

/// The geometry by which `choose` decides: with the packets of all blocks.
Geometry choosing_geometry(Geometry geometry);

/// As many blocks as have something to do, of those that the communicator's geometry has room for; the same on all
/// ranks, and for a message at both ends. For two ranks or more.
int gpu_blocks(const Request& request, const Plan& plan, const Geometry& geometry);

}  // namespace tutti
