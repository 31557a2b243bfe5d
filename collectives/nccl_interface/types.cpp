#include "collectives/nccl_interface/types.hpp"

#include <fmt/format.h>

#include "collectives/nccl_interface/results.hpp"

namespace tutti::nccl_interface {
namespace {

void expect_type(ncclDataType_t type) {
  if (type < 0 || type >= ncclNumTypes)
    throw Refusal(ncclInvalidArgument, fmt::format("datatype {} does not exist; there are 0 to {}",
                                                   static_cast<int>(type), static_cast<int>(ncclNumTypes) - 1));
}

}  // namespace

DataType moved_type(ncclDataType_t type) {
  expect_type(type);
  switch (type) {
    case ncclInt8: return DataType::i8;
    case ncclUint8: return DataType::u8;
    case ncclInt32: return DataType::i32;
    case ncclUint32: return DataType::u32;
    case ncclInt64: return DataType::i64;
    case ncclUint64: return DataType::u64;
    case ncclFloat16: return DataType::f16;
    case ncclFloat32: return DataType::f32;
    case ncclFloat64: return DataType::f64;
    case ncclBfloat16: return DataType::bf16;
    default: return DataType::u8;  // the 8-bit floats
  }
}

bool is_8_bit_float(ncclDataType_t type) { return type == ncclFloat8e4m3 || type == ncclFloat8e5m2; }

bool is_integer(DataType type) {
  return type != DataType::f16 && type != DataType::bf16 && type != DataType::f32 && type != DataType::f64;
}

DataType computed_type(ncclDataType_t type) { return is_8_bit_float(type) ? DataType::f16 : moved_type(type); }

ReduceOp operator_of(int op) {
  switch (op) {
    case ncclSum: return ReduceOp::sum;
    case ncclProd: return ReduceOp::prod;
    case ncclMax: return ReduceOp::max;
    case ncclMin: return ReduceOp::min;
    case ncclAvg: return ReduceOp::avg;
    default: break;
  }
  throw Refusal(ncclInvalidArgument, fmt::format("operator {} does not exist, or not on this communicator", op));
}

}  // namespace tutti::nccl_interface
