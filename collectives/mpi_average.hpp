// Averages over MPI, which only sums: widen, let MPI sum, divide.
#pragma once
#include <cstddef>

#include "kernels/types.hpp"

namespace tutti {

/// What MPI sums in to average elements of `type`: f32 for f16 and bf16, i64 or u64 for integers, else `type`.
DataType sum_type(DataType type);

/// wide[i] = in[i], in sum_type(type).
void widen_all(DataType type, const void* in, void* wide, std::size_t count);

/// out[i] = wide[i] / ranks, one division, integers toward zero. `wide` and `out` may be equal if the types are.
void divide_all(DataType type, const void* wide, void* out, std::size_t count, int ranks);

}  // namespace tutti
