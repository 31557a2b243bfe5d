// The device's half of kernels/half.hpp: one instruction per conversion.
#pragma once
#include <cuda_fp16.h>

#include "kernels/types.hpp"

namespace tutti {

__device__ __forceinline__ float device_to_float(f16 value) { return __half2float(__ushort_as_half(value.bits)); }

__device__ __forceinline__ f16 device_to_f16(float value) { return f16{__half_as_ushort(__float2half_rn(value))}; }

}  // namespace tutti
