// nccl.h's element types and operators as tutti's.
#pragma once
#include <nccl.h>

#include "kernels/types.hpp"

namespace tutti::nccl_interface {

/// The type that reductions compute with. Throws ncclInvalidArgument if there is no such type, ncclInvalidUsage if
/// tutti cannot compute with it.
DataType computed_type(ncclDataType_t type);

/// A type of the same size, for calls that only move elements. Throws ncclInvalidArgument if there is no such type.
DataType moved_type(ncclDataType_t type);

/// One of nccl.h's own operators. Throws ncclInvalidArgument if there is no such one.
ReduceOp operator_of(int op);

}  // namespace tutti::nccl_interface
