#include "collectives/geometry_cuda.hpp"

#include <algorithm>

#include "kernels/launch_cuda.hpp"

namespace tutti {
namespace {

// The reasons for these numbers: docs/algorithms.md, "On a GPU". They make an arena of 3.9 MiB at 8 ranks; what flags
// and packets leave of it goes to slots, of use only to memory that is not mapped.
constexpr int kSlots = 4;
constexpr std::size_t kSlotBytes = 8 << 10;
constexpr int kMessageSlots = 2;
constexpr std::size_t kMessageSlotBytes = 896;
constexpr std::size_t kPacketBytes = 1 << 10;

constexpr std::size_t kBytesPerBlock = 16 * kCudaThreads;
constexpr std::size_t kPacketBytesPerBlock = kPacketBytes;
constexpr std::size_t kMostMessageBlocks = 8;
constexpr std::size_t kBytesPerMessageBlock = 64 << 10;

}  // namespace

Geometry cuda_geometry(int ranks) {
  Geometry geometry;
  geometry.ranks = ranks;
  geometry.blocks = kCudaBlocks;
  geometry.packet_blocks = kCudaBlocks;
  geometry.message_blocks = static_cast<int>(kMostMessageBlocks);
  geometry.slots = kSlots;
  // A slot holds a line of every rank's chunk at least (two-shot, staged).
  geometry.slot_bytes = std::max(kSlotBytes, static_cast<std::size_t>(ranks) * kLine);
  geometry.p2p_slots = kMessageSlots;
  geometry.p2p_slot_bytes = kMessageSlotBytes;
  geometry.packet_bytes = kPacketBytes;
  return geometry;
}

Geometry choosing_geometry(Geometry geometry) {
  geometry.packet_bytes *= static_cast<std::size_t>(geometry.blocks);
  return geometry;
}

int cuda_blocks(const Request& request, const Plan& plan, int ranks, int resident) {
  const auto n = static_cast<std::size_t>(ranks);
  const std::size_t bytes = std::max(request.bytes_in(n), request.bytes_out(n));
  std::size_t per_block = kBytesPerBlock, most = kCudaBlocks;
  if (plan.kernel == Kernel::packets_all_reduce) per_block = kPacketBytesPerBlock;
  if (plan.kernel == Kernel::barrier) most = 1;
  if (request.is_message()) {
    const auto for_messages = static_cast<std::size_t>(resident - kCudaBlocks);
    per_block = kBytesPerMessageBlock;
    most = std::clamp(for_messages / (2 * (n - 1)), std::size_t{1}, kMostMessageBlocks);
  }
  return static_cast<int>(std::clamp(ceil_div(bytes, per_block), std::size_t{1}, most));
}

}  // namespace tutti
