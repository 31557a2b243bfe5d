// Memory of a GPU that tutti did not allocate.
#pragma once
#include <cstddef>
#include <memory>

namespace tutti::bench {

/// `bytes` bytes of the GPU that is this thread's current one, zeroed. Throws tutti::Error if it has no room, and in a
/// build without CUDA.
std::shared_ptr<std::byte> device_memory(std::size_t bytes);

}  // namespace tutti::bench
