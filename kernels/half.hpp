// Conversions between f32 and the 16-bit storage types: round to nearest even, NaN stays NaN, subnormals kept.
#pragma once
#include "kernels/types.hpp"
#ifdef __CUDACC__
#include "kernels/half_cuda.cuh"
#endif

namespace tutti {

TUTTI_HD std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
TUTTI_HD float float_of(std::uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

TUTTI_HD float to_float(float value) { return value; }

TUTTI_HD float to_float(bf16 value) { return float_of(static_cast<std::uint32_t>(value.bits) << 16); }

TUTTI_HD float to_float(f16 value) {
#ifdef __CUDA_ARCH__
  return device_to_float(value);
#else
  const std::uint32_t sign = (value.bits & 0x8000u) << 16;
  std::uint32_t bits = (value.bits & 0x7fffu) << 13;
  const std::uint32_t exponent = bits & 0x0f800000u;
  bits += (127 - 15) << 23;
  if (exponent == 0x0f800000u) {
    bits += (127 - 15) << 23;  // the largest exponent of f32 too: infinity or NaN
    if (bits & 0x007fffffu) bits |= 0x00400000u;
  } else if (exponent == 0) {
    // One normal f32 minus another gives the subnormal exactly, even where subnormal f32 are flushed to zero.
    bits = bits_of(float_of(bits + (1 << 23)) - float_of(113u << 23));
  }
  return float_of(bits | sign);
#endif
}

template <class T>
TUTTI_HD T from_float(float value) {
  if constexpr (std::is_same_v<T, f16>) {
#ifdef __CUDA_ARCH__
    return device_to_f16(value);
#else
    std::uint32_t bits = bits_of(value);
    const std::uint32_t sign = (bits >> 16) & 0x8000u;
    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u) {
      bits = 0x7e00u | ((bits >> 13) & 0x3ffu);
    } else if (bits >= (127u + 16) << 23) {
      bits = 0x7c00u;
    } else if (bits < (127u - 14) << 23) {
      // The last bit of this magic number's significand weighs 2^-24, like a subnormal's: the addition rounds.
      constexpr std::uint32_t magic = (127u - 15 + 23 - 10 + 1) << 23;
      bits = bits_of(float_of(bits) + float_of(magic)) - magic;
    } else {
      bits = (bits - ((127u - 15) << 23) + 0xfffu + ((bits >> 13) & 1)) >> 13;
    }
    return f16{static_cast<std::uint16_t>(bits | sign)};
#endif
  } else if constexpr (std::is_same_v<T, bf16>) {
    const std::uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return bf16{static_cast<std::uint16_t>((bits >> 16) | 0x40u)};
    return bf16{static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16)};
  } else {
    static_assert(std::is_same_v<T, float>, "from_float makes f16, bf16 or float");
    return value;
  }
}

}  // namespace tutti
