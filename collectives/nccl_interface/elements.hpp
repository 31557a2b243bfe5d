// What a rank does to its own elements before and after a collective, where tutti's kernels have no such operator or
// type. Small kernels on the current device, in a stream.
#pragma once
#include <nccl.h>

#include <cstddef>

#include "collectives/nccl_interface/operators.hpp"
#include "kernels/types.hpp"

namespace tutti::nccl_interface {

/// Loads them: later, when peers may be waiting inside a kernel, it could not be done.
void load_element_kernels();

/// to[i] = from[i] * the scalar, for `count` elements of the scalar's type, 16 bits or wider or integers; rounded as
/// that type does. `to` may be `from`.
void scale(const Scaling& scaling, const void* from, void* to, std::size_t count, cudaStream_t stream);

/// elements[i] /= divisor, for `count` integers, toward zero.
void divide(DataType type, void* elements, std::size_t count, unsigned divisor, cudaStream_t stream);

/// `count` elements of an 8-bit floating-point type as f16, which holds all of them, times the scalar unless `scaling`
/// is null.
void widen(ncclDataType_t type, const void* from, void* to, std::size_t count, const Scaling* scaling,
           cudaStream_t stream);

/// The way back, rounded to the nearest; what is too large becomes the largest.
void narrow(ncclDataType_t type, const void* from, void* to, std::size_t count, cudaStream_t stream);

}  // namespace tutti::nccl_interface
