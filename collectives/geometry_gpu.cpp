#include "collectives/geometry_gpu.hpp"

#include <algorithm>

#include "kernels/launch_cuda.hpp"

namespace tutti {
namespace {

// The reasons for these numbers: docs/algorithms.md, "On a GPU". They make an arena of 3.98 MiB at 8 ranks; what flags
// and packets leave of it goes to slots.
constexpr int kSlots = 4;
constexpr std::size_t kSlotBytes = 10 << 10;
constexpr int kMessageSlots = 2;
constexpr std::size_t kMessageSlotBytes = 896;
constexpr int kMessageBlocks = 8;
constexpr std::size_t kPacketBytes = 1 << 10;

constexpr std::size_t kBytesPerBlock = 16 * kCudaThreads;
constexpr std::size_t kBytesPerLaneBlock = 2 << 10;
constexpr std::size_t kBytesPerMessageBlock = 64 << 10;

/// Whether all of the call's bytes go through lanes of the slots, on a path of several steps.
bool by_lanes(Kernel kernel) {
  return kernel == Kernel::tree_all_reduce || kernel == Kernel::tree_broadcast || kernel == Kernel::tree_reduce ||
         kernel == Kernel::recursive_doubling_all_reduce || kernel == Kernel::halving_doubling_all_reduce;
}

}  // namespace

Geometry gpu_geometry(int ranks) {
  Geometry geometry;
  geometry.ranks = ranks;
  geometry.blocks = kGpuBlocks;
  geometry.packet_blocks = kGpuBlocks;
  geometry.message_blocks = kMessageBlocks;
  geometry.slots = kSlots;
  geometry.slot_bytes = std::max(kSlotBytes, least_slot_bytes(ranks));
  geometry.p2p_slots = kMessageSlots;
  geometry.p2p_slot_bytes = kMessageSlotBytes;
  geometry.packet_bytes = kPacketBytes;
  return geometry;
}

Geometry choosing_geometry(Geometry geometry) {
  geometry.packet_bytes *= static_cast<std::size_t>(geometry.packet_blocks);
  return geometry;
}

int gpu_blocks(const Request& request, const Plan& plan, const Geometry& geometry) {
  const auto n = static_cast<std::size_t>(geometry.ranks);
  std::size_t bytes = std::max(request.bytes_in(n), request.bytes_out(n)), per_block = kBytesPerBlock;
  int most = geometry.blocks;
  if (request.collective == Collective::barrier) {
    most = 1;
  } else if (request.is_message()) {
    per_block = kBytesPerMessageBlock;
    most = geometry.message_blocks;
  } else if (by_packets(plan.kernel)) {
    bytes = request.bytes();  // to, or from, one peer
    per_block = geometry.packet_bytes;
    most = geometry.packet_blocks;
  } else if (by_lanes(plan.kernel)) {
    per_block = kBytesPerLaneBlock;
  }
  const auto blocks =
      static_cast<int>(std::clamp(ceil_div(bytes, per_block), std::size_t{1}, static_cast<std::size_t>(most)));
  if (plan.kernel != Kernel::tree_all_reduce || most == 1) return blocks;
  return std::min((blocks + 1) / 2, most / 2) * 2;  // as many on each of the two trees
}

}  // namespace tutti
