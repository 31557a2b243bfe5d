// How many of the blocks that a GPU runs at once each communicator may use.
//
// Blocks wait for blocks of other GPUs, so those of all calls that may be in flight have to run at once: of every
// communicator, and of every rank on the GPU. Each communicator has its part from its creation to its end; the first
// ones get most.
#pragma once

namespace tutti::detail {

/// One communicator's part: at most so many blocks of a collective, and of a message to or from each peer.
struct Blocks {
  int collective = 0;
  int message = 0;
  /// A collective and a message to and from each peer may be in flight at once.
  int of(int ranks) const { return collective + 2 * (ranks - 1) * message; }
};

/// The part of a communicator of `ranks` ranks where `free` blocks are left: half of them, a whole call at most, but
/// one block each at least. Zero blocks if not even that is left.
constexpr Blocks part_of(int free, int ranks, int most_collective, int most_message) {
  const int queues = 2 * (ranks - 1);
  if (free < 1 + queues) return {};
  const auto clamp = [](int value, int low, int high) { return value < low ? low : value > high ? high : value; };
  Blocks blocks;
  blocks.collective = clamp(free / 4, 1, most_collective);
  if (queues > 0) {
    blocks.message = clamp((free / 2 - blocks.collective) / queues, 1, most_message);
    blocks.message = clamp(blocks.message, 1, blocks.collective);
    blocks.collective = clamp(blocks.collective, 1, free - queues * blocks.message);
  }
  return blocks;
}

}  // namespace tutti::detail
