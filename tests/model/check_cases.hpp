// Which calls `tutti check` makes of a kernel: a seed stands for one of all combinations of size, memory, blocks and
// slots, and for a schedule.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/kernel_cases.hpp"

namespace tutti::model {

/// What is fixed; the seed chooses the rest.
struct Pins {
  std::optional<std::size_t> count;
  std::optional<std::size_t> bytes;  ///< in place of a count
  std::optional<DataType> type;
  std::optional<ReduceOp> op;
  std::optional<int> root;
  std::optional<cases::Mapped> mapped;
  std::optional<bool> in_place;
  std::optional<int> blocks;
  std::optional<int> slots;
};

/// Calls of one kernel, one after the other on a new communicator, in one schedule.
struct Trial {
  Geometry geometry;
  std::vector<cases::Case> calls;
  std::uint64_t seed = 0;
  std::uint64_t packet_uses = 0;  ///< calls by packets that the communicator has behind it
};

inline constexpr int kMostBlocks = 3;  ///< of a trial, unless pinned
inline constexpr int kMostSlots = cases::kLeastSlots + 2;

/// Uses of packets after which their tags soon repeat.
inline constexpr std::uint64_t kBeforeTagsRepeat = (std::uint64_t{1} << 32) - 3;

/// How many combinations there are for the kernel: as many seeds in a row try each once.
std::size_t combinations(Kernel kernel, int ranks, const Pins& pins);

/// The trial of a seed; nothing if the kernel does not take what is pinned.
std::optional<Trial> trial_of(Kernel kernel, int ranks, const Pins& pins, std::uint64_t seed);

/// A number below `below` that follows from the seed and from what it is for.
std::size_t drawn(std::uint64_t seed, std::uint64_t what_for, std::size_t below);

}  // namespace tutti::model
