// What a call is given, and what it must give, in cells.
#pragma once
#include "bench/explain/recording.hpp"
#include "bench/explain/story.hpp"

namespace tutti::explain {

/// How many colours cells have.
int chunks_of(const Recording& recording);

/// Cell `c` of the rank's input.
Cell input_cell(const Recording& recording, int rank, int c);

/// What the rank's output must hold, by the definition of the collective; nothing if it has none.
std::vector<Cell> expected(const Recording& recording, int rank);

/// A bit for each rank.
std::uint64_t everyone(const Recording& recording);

/// Two terms put together as f32; of avg the sum.
float combined(ReduceOp op, float a, float b);

}  // namespace tutti::explain
