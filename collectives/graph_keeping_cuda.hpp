// Keeps what captured calls need for as long as their graphs live.
#pragma once
#include <cuda_runtime_api.h>

#include <memory>

namespace tutti {

/// The graph that `stream` is being captured into, and every executable graph made of it, keeps `thing`.
void keep_with_graph(cudaStream_t stream, std::shared_ptr<void> thing);

/// Lets go of what only ended graphs have kept: CUDA tells of their end where nothing of CUDA may be called.
void drop_what_graphs_kept();

}  // namespace tutti
