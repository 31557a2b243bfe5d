// nccl.h's element types and operators as tutti's.
#pragma once
#include <nccl.h>

#include "kernels/types.hpp"

namespace tutti::nccl_interface {

/// The type that reductions of `type` compute with: itself, or of 8-bit floating-point types f16. Throws
/// ncclInvalidArgument if there is no such type.
DataType computed_type(ncclDataType_t type);
bool is_8_bit_float(ncclDataType_t type);

/// A type of the same size, for calls that only move elements. Throws ncclInvalidArgument if there is no such type.
DataType moved_type(ncclDataType_t type);

/// One of nccl.h's own operators. Throws ncclInvalidArgument if there is no such one.
ReduceOp operator_of(int op);

/// Whether a program's elements can be averaged only by dividing what their sum has become in their own type.
bool is_integer(DataType type);

}  // namespace tutti::nccl_interface
