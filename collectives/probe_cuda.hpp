// Whether the GPUs reach each other's memory, tried rather than asked.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>

#include "collectives/bootstrap.hpp"
#include "kernels/connection.hpp"

namespace tutti {

/// Every GPU writes a word into every other's arena and reads one there: drivers have claimed access that did not work.
/// `seen` is pinned host memory of [2][ranks], zero again afterwards. Collective; throws on all ranks alike.
void prove_memory(Bootstrap& bootstrap, const Team& team, cudaStream_t stream, std::uint64_t* seen);

}  // namespace tutti
