// Which of the GPUs that it sees each rank takes.
#pragma once
#include <array>
#include <span>
#include <vector>

namespace tutti {

/// A GPU's UUID, the same in every process, whatever number the GPU has there.
using GpuId = std::array<unsigned char, 16>;

/// `visible` has, for each rank, the GPUs that it sees, one at least, in the order of its own numbers. Returns the
/// number of the GPU that each rank takes: with as few ranks on a GPU as can be, and where that leaves a choice, rank r
/// takes its number r, modulo how many it sees.
std::vector<int> place_ranks(std::span<const std::vector<GpuId>> visible);

/// How many ranks take the GPU of `rank`.
int ranks_beside(std::span<const std::vector<GpuId>> visible, std::span<const int> placed, int rank);

}  // namespace tutti
