// Rounding in any mode by integer arithmetic, without the host's rounding mode.
//
// An operation on f16, bf16 or f32 is first computed in double and rounded *to odd*: if it is not exact, to the one of
// the two doubles around it whose last bit is 1. Rounding that to a format with at least two bits less then gives what
// rounding the exact value would have given, in every mode. (Boldo and Melquiond, "Emulation of a FMA and correctly
// rounded sums: proved algorithms using rounding to odd", 2008.)
#pragma once
#include <cmath>

#include "tests/emulator/ptx/arithmetic_formats.hpp"

namespace tutti::emulator::arithmetic {

enum class Rounding { nearest, zero, down, up, nearest_away };

/// As a modifier: .rn .rz .rm .rp .rna, or rounding to an integer .rni ...
constexpr const char* name_of(Rounding rounding) {
  constexpr const char* names[] = {".rn", ".rz", ".rm", ".rp", ".rna"};
  return names[static_cast<int>(rounding)];
}

/// Whether a magnitude must be rounded up, given its last bit, and whether the rest is above, at or below half of it.
template <Rounding rounding>
constexpr bool rounds_up(bool negative, bool odd, bool above_half, bool half, bool inexact) {
  switch (rounding) {
    case Rounding::nearest: return above_half || (half && odd);
    case Rounding::nearest_away: return above_half || half;
    case Rounding::zero: return false;
    case Rounding::down: return negative && inexact;
    case Rounding::up: return !negative && inexact;
  }
  return false;
}

/// What becomes of a number that is too large: infinity where IEEE 754 rounds to it, or the largest number.
enum class Overflow { ieee, finite };

/// The encoding of a double in the format of T, rounded once; NaN is canonical.
template <class T, Rounding rounding, Overflow overflow = Overflow::ieee>
std::uint32_t encoded(double value) {
  constexpr int significand_bits = Format<T>::significand_bits, exponent_bits = Format<T>::exponent_bits;
  constexpr int smallest_exponent = 2 - (1 << (exponent_bits - 1));
  constexpr std::uint32_t sign_bit = std::uint32_t{1} << (exponent_bits + significand_bits);
  constexpr std::uint32_t infinity = Format<T>::largest + 1;

  const auto bits = std::bit_cast<std::uint64_t>(value);
  const bool negative = bits >> 63 != 0;
  const int biased = static_cast<int>(bits >> 52 & 0x7ff);
  std::uint64_t significand = bits & 0xfffffffffffff;
  if (biased == 0x7ff && significand != 0) return Format<T>::nan;
  const std::uint32_t sign = negative ? sign_bit : 0;
  if (biased == 0x7ff) return sign | (overflow == Overflow::finite ? Format<T>::largest : infinity);
  if (biased != 0) significand |= std::uint64_t{1} << 52;

  // value = significand * 2^(exponent - 52); the result counts units of 2^(at least the smallest - significand_bits).
  const int exponent = (biased == 0 ? 1 : biased) - 1023;
  const int above = exponent > smallest_exponent ? exponent - smallest_exponent : 0;
  int shift = smallest_exponent + above - significand_bits - (exponent - 52);
  if (shift > 60) {  // far below the smallest number: only whether it is zero matters
    significand = significand != 0 ? 1 : 0;
    shift = 60;
  }
  const std::uint64_t rest = significand & ((std::uint64_t{1} << shift) - 1), half = std::uint64_t{1} << (shift - 1);
  std::uint64_t magnitude = significand >> shift;
  if (rounds_up<rounding>(negative, (magnitude & 1) != 0, rest > half, rest == half, rest != 0)) ++magnitude;
  // The leading one adds itself to the exponent; a carry out of the significand is the next exponent.
  magnitude += static_cast<std::uint64_t>(above) << significand_bits;
  if (magnitude > Format<T>::largest) {
    const bool to_largest = overflow == Overflow::finite || rounding == Rounding::zero ||
                            (rounding == Rounding::down && !negative) || (rounding == Rounding::up && negative);
    magnitude = to_largest ? Format<T>::largest : infinity;
  }
  return sign | static_cast<std::uint32_t>(magnitude);
}

/// A double (exact, or rounded to odd) as a T.
template <class T, Rounding rounding>
T rounded(double value) {
  if constexpr (std::is_same_v<T, float>) {
    if constexpr (rounding == Rounding::nearest) return canonical(static_cast<float>(value));
    return std::bit_cast<float>(encoded<float, rounding>(value));
  } else {
    return T{static_cast<decltype(T::bits)>(encoded<T, rounding>(value))};
  }
}

/// `nearest` rounded to odd, where `rest` has the sign of what was rounded away.
inline double to_odd(double nearest, double rest) {
  const auto bits = std::bit_cast<std::uint64_t>(nearest);
  if (!(rest < 0 || rest > 0) || (bits & 1) != 0) return nearest;
  return std::bit_cast<double>((rest > 0) == (nearest > 0) ? bits + 1 : bits - 1);
}

/// a + b rounded to odd. An exact zero out of unlike zeros or numbers is negative only when rounding down.
template <Rounding rounding>
double sum_to_odd(double a, double b) {
  const double sum = a + b;
  if (sum == 0) {
    if (rounding == Rounding::down && (std::signbit(a) || std::signbit(b))) return -0.0;
    return sum;
  }
  const double b_part = sum - a, a_part = sum - b_part;
  return to_odd(sum, (a - a_part) + (b - b_part));
}

}  // namespace tutti::emulator::arithmetic
