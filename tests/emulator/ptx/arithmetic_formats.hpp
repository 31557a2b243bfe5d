// The floating point types: what they are, to and from the host's float and double, and what may be done to a result.
//
// NaN. Every f32, f16 or bf16 that an instruction computes and that is NaN is the canonical one: 0x7fffffff or 0x7fff.
// f64 keeps the payload of its first NaN operand, made quiet; a NaN out of numbers is 0xfff8000000000000.
#pragma once
#include <bit>
#include <cstdint>
#include <limits>

#include "tests/emulator/ptx/arithmetic_table.hpp"

namespace tutti::emulator::arithmetic {

template <class T>
inline constexpr bool is_float =
    std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, F16> || std::is_same_v<T, BF16>;

/// Layout of a binary format, and its largest finite number.
template <class T>
struct Format;
template <>
struct Format<F16> {
  static constexpr int exponent_bits = 5, significand_bits = 10;
  static constexpr std::uint32_t largest = 0x7bff, nan = 0x7fff;
};
template <>
struct Format<BF16> {
  static constexpr int exponent_bits = 8, significand_bits = 7;
  static constexpr std::uint32_t largest = 0x7f7f, nan = 0x7fff;
};
template <>
struct Format<float> {
  static constexpr int exponent_bits = 8, significand_bits = 23;
  static constexpr std::uint32_t largest = 0x7f7fffff, nan = 0x7fffffff;
};
template <>
struct Format<TF32> {  // as if its low 13 bits were not there
  static constexpr int exponent_bits = 8, significand_bits = 10;
  static constexpr std::uint32_t largest = 0x7f7fffff >> 13, nan = 0x7fffffff >> 13;
};
template <>
struct Format<E4M3> {
  static constexpr int exponent_bits = 4, significand_bits = 3;
  static constexpr std::uint32_t largest = 0x7e, nan = 0x7f;
};
template <>
struct Format<E5M2> {
  static constexpr int exponent_bits = 5, significand_bits = 2;
  static constexpr std::uint32_t largest = 0x7b, nan = 0x7f;
};

inline bool is_nan(float a) { return a != a; }
inline bool is_nan(double a) { return a != a; }
inline bool is_nan(F16 a) { return (a.bits & 0x7fff) > 0x7c00; }
inline bool is_nan(BF16 a) { return (a.bits & 0x7fff) > 0x7f80; }

/// Exactly the same number; the result of NaN is some NaN.
inline float to_host(float a) { return a; }
inline double to_host(double a) { return a; }
inline float to_host(BF16 a) { return std::bit_cast<float>(static_cast<std::uint32_t>(a.bits) << 16); }
inline float to_host(F16 a) {
  const std::uint32_t sign = (a.bits & 0x8000u) << 16, rest = (a.bits & 0x7fffu) << 13;
  // With the exponent read by the bias of f32 the number is 2^112 times too small, subnormals too.
  const float magnitude = std::bit_cast<float>(rest) * 0x1p112f;
  const std::uint32_t bits = (a.bits & 0x7c00) == 0x7c00 ? rest | 0x7f800000 : std::bit_cast<std::uint32_t>(magnitude);
  return std::bit_cast<float>(sign | bits);
}

inline float canonical_nan(float) { return std::bit_cast<float>(Format<float>::nan); }
inline F16 canonical_nan(F16) { return {Format<F16>::nan}; }
inline BF16 canonical_nan(BF16) { return {Format<BF16>::nan}; }

/// The first operand that is NaN, quiet; if there is none, the NaN that an operation on numbers makes.
inline double nan_of() { return std::bit_cast<double>(0xfff8000000000000); }
template <class... Others>
double nan_of(double first, Others... others) {
  if (!is_nan(first)) return nan_of(others...);
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(first) | 0x0008000000000000);
}
/// The result of an operation on f64: which NaN it is must not depend on how the compiler orders operands.
template <class... Operands>
double with_nan(double result, Operands... operands) {
  return is_nan(result) ? nan_of(operands...) : result;
}

/// A result of f32, canonical if it is NaN.
inline float canonical(float a) { return is_nan(a) ? canonical_nan(a) : a; }

/// .ftz: subnormal numbers become zeros of the same sign.
inline float flushed(float a) {
  const auto bits = std::bit_cast<std::uint32_t>(a);
  return (bits & 0x7f800000) != 0 ? a : std::bit_cast<float>(bits & 0x80000000);
}
inline double flushed(double a) {
  const auto bits = std::bit_cast<std::uint64_t>(a);
  return (bits & 0x7ff0000000000000) != 0 ? a : std::bit_cast<double>(bits & 0x8000000000000000);
}
inline F16 flushed(F16 a) { return (a.bits & 0x7c00) != 0 ? a : F16{static_cast<std::uint16_t>(a.bits & 0x8000)}; }
inline BF16 flushed(BF16 a) { return (a.bits & 0x7f80) != 0 ? a : BF16{static_cast<std::uint16_t>(a.bits & 0x8000)}; }

/// .sat: into [0, 1]; NaN and -0 become +0.
inline float saturated(float a) { return a > 0 ? (a < 1 ? a : 1) : 0; }
inline double saturated(double a) { return a > 0 ? (a < 1 ? a : 1) : 0; }
inline F16 saturated(F16 a) { return is_nan(a) || (a.bits & 0x8000) != 0 ? F16{0} : a.bits < 0x3c00 ? a : F16{0x3c00}; }
inline BF16 saturated(BF16 a) {
  return is_nan(a) || (a.bits & 0x8000) != 0 ? BF16{0} : a.bits < 0x3f80 ? a : BF16{0x3f80};
}

/// .relu: negative numbers and -0 become +0, NaN stays.
template <class T>
T rectified(T a) {
  return !is_nan(a) && (a.bits & 0x8000) != 0 ? T{0} : a;
}

/// What is done to the result of an instruction after rounding.
enum class Finish { none, sat, relu };
constexpr const char* name_of(Finish finish) {
  constexpr const char* names[] = {"", ".sat", ".relu"};
  return names[static_cast<int>(finish)];
}

/// A function of T with .ftz (of operands and result) and .sat or .relu.
template <auto function, bool flushes, Finish finish = Finish::none>
struct Modified;
template <class T, class... Arguments, T (*function)(Arguments...), bool flushes, Finish finish>
struct Modified<function, flushes, finish> {
  static T call(Arguments... arguments) {
    if constexpr (flushes) return finished(flushed(function(flushed(arguments)...)));
    return finished(function(arguments...));
  }

 private:
  static T finished(T a) {
    if constexpr (finish == Finish::sat) return saturated(a);
    if constexpr (finish == Finish::relu) return rectified(a);
    return a;
  }
};
template <auto function, bool flushes, Finish finish = Finish::none>
inline constexpr auto modified = &Modified<function, flushes, finish>::call;

constexpr const char* flush_name(bool flushes) { return flushes ? ".ftz" : ""; }

}  // namespace tutti::emulator::arithmetic
