#include "collectives/geometry_host.hpp"

#include <algorithm>

namespace tutti {
namespace {

// Measured on two cores of a Zen 4 server, 2026-11: packets win up to 8 KiB (two ranks: 4 KiB); slots of 64 to 512 KiB
// differ by less than the noise, so these are small enough for the arena. Messages of more than a slot
// are copied by both ends if their buffers are mapped; at 32 KiB and more that took half as long as slots did on a Xeon
// (Sapphire Rapids), 2026-12-01.
constexpr std::size_t kPacketBytes = 8 << 10;
constexpr std::size_t kSlotBytes = 256 << 10;
constexpr int kSlots = 10;  // at least 3, see Geometry
constexpr std::size_t kMessageSlotBytes = 8 << 10;
constexpr int kMessageSlots = 16;
// A thread for each so many bytes of a rank's larger buffer pays for the way to it and back, some microseconds: a core
// moves about 10 bytes a nanosecond. An estimate: the machines at hand had no cores to spare.
constexpr std::size_t kBytesPerThread = 256 << 10;

/// The double tree has a block for each of its trees.
int tree_blocks(int blocks) { return (blocks + 1) / 2 * 2; }

}  // namespace

Geometry host_geometry(int ranks, int most, int usual) {
  const auto parts = static_cast<std::size_t>(usual);
  Geometry geometry;
  geometry.ranks = ranks;
  geometry.blocks = tree_blocks(most);
  geometry.packet_blocks = usual;
  geometry.message_blocks = usual;
  geometry.slots = kSlots;
  geometry.slot_bytes =
      std::max(kSlotBytes / static_cast<std::size_t>(geometry.blocks) / kLine * kLine, least_slot_bytes(ranks));
  geometry.cut = true;
  geometry.p2p_slots = kMessageSlots;
  geometry.p2p_slot_bytes = kMessageSlotBytes / parts / kLine * kLine;
  geometry.both_copy = true;
  geometry.packet_bytes = kPacketBytes / parts / kLine * kLine;
  return geometry;
}

int host_blocks(const Request& request, const Plan& plan, int ranks, int threads, int asked) {
  int blocks = std::max(asked, 1);
  if (asked == 0 && !request.is_message() && !by_packets(plan.kernel)) {
    const auto n = static_cast<std::size_t>(ranks);
    const std::size_t worth = std::max(request.bytes_in(n), request.bytes_out(n)) / kBytesPerThread;
    blocks = static_cast<int>(std::clamp<std::size_t>(worth, 1, static_cast<std::size_t>(threads)));
  }
  return plan.kernel == Kernel::tree_all_reduce ? tree_blocks(blocks) : blocks;
}

}  // namespace tutti
