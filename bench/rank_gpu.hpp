// Which GPU a rank's memory is on, and whether it reaches the peers'.
#pragma once
#include <array>
#include <span>
#include <vector>

namespace tutti::bench {

/// Trivially copyable, for the bootstrap. The texts are empty on the CPU.
struct RankGpu {
  std::array<char, 64> name{};
  std::array<char, 48> uuid{};
  std::array<char, 24> address{};  ///< on its PCI bus
};

/// What the runtime says of the way to a peer's GPU; -1: that GPU is not visible to this process.
struct PeerAccess {
  int reached = -1;           ///< 1: its memory can be mapped
  int atomics = -1;           ///< 1: atomic instructions work on it
  int performance_rank = -1;  ///< the lower the better
};

/// The GPU that holds `memory`; all empty where that is the CPU's. Throws tutti::Error if the runtime fails.
RankGpu gpu_of(const void* memory);
/// From `mine` to each of `peers`. Throws tutti::Error if the runtime fails.
std::vector<PeerAccess> peer_access(const RankGpu& mine, std::span<const RankGpu> peers);

}  // namespace tutti::bench
