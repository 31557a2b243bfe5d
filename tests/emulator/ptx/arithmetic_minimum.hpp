// min and max of floats: -0 is less than +0; NaN gives way to a number unless .NaN is said.
#pragma once
#include <fmt/format.h>

#include "tests/emulator/ptx/arithmetic_formats.hpp"

namespace tutti::emulator::arithmetic {

template <class T>
struct SignOf;
template <>
struct SignOf<float> {
  using Bits = std::uint32_t;
};
template <>
struct SignOf<double> {
  using Bits = std::uint64_t;
};
template <>
struct SignOf<F16> {
  using Bits = std::uint16_t;
};
template <>
struct SignOf<BF16> {
  using Bits = std::uint16_t;
};

template <class T>
using BitsOf = typename SignOf<T>::Bits;
template <class T>
inline constexpr auto sign_bit_of = static_cast<BitsOf<T>>(BitsOf<T>{1} << (8 * sizeof(T) - 1));

/// The canonical NaN; of f64, the first operand made quiet.
template <class T>
T nan_like(T first) {
  if constexpr (std::is_same_v<T, double>) {
    return nan_of(first);
  } else {
    return canonical_nan(first);
  }
}

enum class Choice { smaller, larger };
/// .NaN: one NaN operand is enough for a NaN result. .xorsign.abs: of magnitudes, with the product of the signs.
struct ChoiceOptions {
  bool nan_wins, of_magnitudes;
};

template <class T, Choice choice, ChoiceOptions options = {false, false}>
T chosen(T a, T b) {
  using Bits = BitsOf<T>;
  constexpr Bits sign_bit = sign_bit_of<T>;
  Bits a_bits = std::bit_cast<Bits>(a), b_bits = std::bit_cast<Bits>(b);
  const Bits signs = static_cast<Bits>((a_bits ^ b_bits) & sign_bit);
  if constexpr (options.of_magnitudes) {
    a_bits = static_cast<Bits>(a_bits & ~sign_bit);
    b_bits = static_cast<Bits>(b_bits & ~sign_bit);
  }
  const bool a_nan = is_nan(a), b_nan = is_nan(b);
  if ((a_nan && b_nan) || (options.nan_wins && (a_nan || b_nan))) return nan_like(a);
  const auto x = to_host(std::bit_cast<T>(a_bits)), y = to_host(std::bit_cast<T>(b_bits));
  const bool a_is_less = x < y || (x == y && (a_bits & sign_bit) != 0);
  const bool takes_a = b_nan || (!a_nan && a_is_less == (choice == Choice::smaller));
  Bits result = takes_a ? a_bits : b_bits;
  if constexpr (options.of_magnitudes) result = static_cast<Bits>(result | signs);
  return std::bit_cast<T>(result);
}

/// Adds min and max with each combination of .NaN and .xorsign.abs, as scalars or, if `halves`, as pairs.
template <class T, bool flushes, bool halves>
void add_choices(Table& table) {
  const auto add = [&]<Choice choice, bool nan_wins, bool of_magnitudes>() {
    constexpr auto function = modified<&chosen<T, choice, ChoiceOptions{nan_wins, of_magnitudes}>, flushes>;
    const std::string spelling =
        fmt::format("{}{}{}{}.{}", choice == Choice::smaller ? "min" : "max", flush_name(flushes),
                    nan_wins ? ".NaN" : "", of_magnitudes ? ".xorsign.abs" : "", name_of<T>());
    if constexpr (halves) {
      table.add(fmt::format("{}x2", spelling), computation<in_halves<function>>());
    } else {
      table.add(spelling, computation<function>());
    }
  };
  for_values<Choice::smaller, Choice::larger>([&]<Choice choice>() {
    add.template operator()<choice, false, false>();
    add.template operator()<choice, true, false>();
    add.template operator()<choice, false, true>();
    add.template operator()<choice, true, true>();
  });
}

}  // namespace tutti::emulator::arithmetic
