// A build without CUDA has no GPU to ask about.
#include "bench/rank_gpu.hpp"

namespace tutti::bench {

RankGpu gpu_of(const void*) { return {}; }
std::vector<PeerAccess> peer_access(const RankGpu&, std::span<const RankGpu> peers) {
  return std::vector<PeerAccess>(peers.size());
}

}  // namespace tutti::bench
