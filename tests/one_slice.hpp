// Calls whose messages are one slice each and wait for no credit: what they cost is what the kernel's formula says.
#pragma once
#include <numeric>

#include "tests/kernel_cases.hpp"

namespace tutti::cases {

/// A count of elements of 4 bytes that all cuts divide: by ranks, by the corners of a hypercube, by blocks, all at
/// lines.
inline std::size_t even_count(Kernel kernel, int ranks, int blocks) {
  const Shape shape = shape_of(kernel);
  if (shape == Shape::nothing) return 0;
  const std::size_t lines = kLine / 4 * static_cast<std::size_t>(blocks);
  if (by_packets(kernel) || (shape != Shape::all_reduce && shape != Shape::reduce)) return lines;
  return lines * static_cast<std::size_t>(std::lcm(ranks, Corner(0, ranks).corners()));
}

/// Arenas with room for them.
inline Geometry one_slice_geometry(int ranks, int blocks) {
  const std::size_t band = 4 * even_count(Kernel::ring_all_reduce, ranks, 1);
  const std::size_t lanes = static_cast<std::size_t>(ceil_log2(ranks)) + 1;
  return {.ranks = ranks,
          .blocks = blocks,
          .packet_blocks = blocks,
          .message_blocks = blocks,
          .slots = 2 * ranks,
          .slot_bytes = least_slot_bytes(ranks) + lanes * band,
          .p2p_slots = 2,
          .p2p_slot_bytes = 256,
          .packet_bytes = 256};
}

}  // namespace tutti::cases
