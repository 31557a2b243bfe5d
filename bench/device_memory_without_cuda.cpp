#include "bench/device_memory.hpp"
#include "collectives/error.hpp"

namespace tutti::bench {

std::shared_ptr<std::byte> device_memory(std::size_t) {
  throw Error(ErrorCode::unsupported, "bench: this build has no CUDA, so it has no memory of a GPU");
}

}  // namespace tutti::bench
