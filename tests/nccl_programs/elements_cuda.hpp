// Elements of every type of nccl.h, written and read as small whole numbers.
#pragma once
#include <nccl.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace nccl_programs {

inline constexpr ncclDataType_t kTypes[] = {ncclInt8,    ncclUint8,    ncclInt32,      ncclUint32,
                                            ncclInt64,   ncclUint64,   ncclFloat16,    ncclFloat32,
                                            ncclFloat64, ncclBfloat16, ncclFloat8e4m3, ncclFloat8e5m2};

std::size_t size_of(ncclDataType_t type);
std::string name_of(ncclDataType_t type);
/// Elements of `type` with these values, which it holds exactly.
std::vector<std::byte> encode(ncclDataType_t type, std::span<const double> values);
/// The value of each element.
std::vector<double> decode(ncclDataType_t type, std::span<const std::byte> elements);

}  // namespace nccl_programs
