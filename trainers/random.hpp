// Counter-based random numbers: a value depends on its place alone, so every layout slices the same tensors.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

namespace tutti::trainers {

/// What a random number is for; keeps the streams of one seed apart.
enum class Purpose : std::uint32_t { weights, samples, shuffle };

/// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; 2011).
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

/// A standard normal number for one place, e.g. (layer, row, column) of the weights or (0, sample, feature) of data.
double normal_at(std::uint64_t seed, Purpose purpose, std::uint32_t layer, std::uint32_t row, std::uint32_t column);

/// The order of the samples in one epoch: a permutation of 0 .. samples-1, a pure function of its arguments.
void epoch_order(std::uint64_t seed, int epoch, std::vector<std::uint32_t>& order);

}  // namespace tutti::trainers
