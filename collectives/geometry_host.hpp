// How a communicator's arena is cut, and how many blocks a call runs, on CPUs.
#pragma once
#include "collectives/choose.hpp"
#include "kernels/connection.hpp"

namespace tutti {

/// The most blocks that a communicator may be asked to use.
inline constexpr int kMostHostBlocks = 4;

/// `most`: blocks of a large collective; `usual`: of small ones and of messages.
Geometry host_geometry(int ranks, int most = 1, int usual = 1);

/// Blocks of a call: `asked` of the communicator or, if that is 0, one for each of `threads` that has enough to do.
int host_blocks(const Request& request, const Plan& plan, int ranks, int threads = 1, int asked = 0);

}  // namespace tutti
