// Comparisons, for setp and set.
#pragma once
#include <cstdint>
#include <string>
#include <type_traits>

#include "tests/emulator/ptx/arithmetic_formats.hpp"

namespace tutti::emulator::arithmetic {

/// Those of PTX: the unordered ones also hold if an operand is NaN.
enum class Comparison { eq, ne, lt, le, gt, ge, lo, ls, hi, hs, equ, neu, ltu, leu, gtu, geu, num, nan };

constexpr const char* name_of(Comparison comparison) {
  constexpr const char* names[] = {"eq", "ne",  "lt",  "le",  "gt",  "ge",  "lo",  "ls",  "hi",
                                   "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
  return names[static_cast<int>(comparison)];
}

template <Comparison comparison, class T>
bool holds(T left, T right) {
  if constexpr (is_float<T>) {
    const auto a = to_host(left), b = to_host(right);
    const bool unordered = a != a || b != b;
    switch (comparison) {
      case Comparison::eq: return a == b;
      case Comparison::ne: return a < b || a > b;
      case Comparison::lt: return a < b;
      case Comparison::le: return a <= b;
      case Comparison::gt: return a > b;
      case Comparison::ge: return a >= b;
      case Comparison::equ: return unordered || a == b;
      case Comparison::neu: return a != b;
      case Comparison::ltu: return unordered || a < b;
      case Comparison::leu: return unordered || a <= b;
      case Comparison::gtu: return unordered || a > b;
      case Comparison::geu: return unordered || a >= b;
      case Comparison::num: return !unordered;
      case Comparison::nan: return unordered;
      default: return false;  // not for floats, never in the table
    }
  } else {
    switch (comparison) {
      case Comparison::eq: return left == right;
      case Comparison::ne: return left != right;
      case Comparison::lt:
      case Comparison::lo: return left < right;
      case Comparison::le:
      case Comparison::ls: return left <= right;
      case Comparison::gt:
      case Comparison::hi: return left > right;
      case Comparison::ge:
      case Comparison::hs: return left >= right;
      default: return false;  // for floats only, never in the table
    }
  }
}

/// How the result is combined with a predicate.
enum class Combination { none, bit_and, bit_or, bit_xor };

constexpr const char* name_of(Combination combination) {
  constexpr const char* names[] = {"", ".and", ".or", ".xor"};
  return names[static_cast<int>(combination)];
}

template <Combination combination>
bool combined(bool a, bool b) {
  switch (combination) {
    case Combination::none: return a;
    case Combination::bit_and: return a && b;
    case Combination::bit_or: return a || b;
    case Combination::bit_xor: return a != b;
  }
  return a;
}

template <class F>
void for_equalities(F f) {
  for_values<Comparison::eq, Comparison::ne>(f);
}
template <class F>
void for_orders(F f) {
  for_values<Comparison::lt, Comparison::le, Comparison::gt, Comparison::ge>(f);
}
template <class F>
void for_unsigned_orders(F f) {
  for_values<Comparison::lo, Comparison::ls, Comparison::hi, Comparison::hs>(f);
}
template <class F>
void for_float_comparisons(F f) {
  for_values<Comparison::equ, Comparison::neu, Comparison::ltu, Comparison::leu, Comparison::gtu, Comparison::geu,
             Comparison::num, Comparison::nan>(f);
}
template <class F>
void for_combinations(F f) {
  for_values<Combination::none, Combination::bit_and, Combination::bit_or, Combination::bit_xor>(f);
}
/// What setp and set compare: a type under its name, and whether subnormal operands count as zero.
template <class T, bool flushes = false>
struct Compared {
  using Value = T;
  static T operand(T a) {
    if constexpr (flushes) return flushed(a);
    return a;
  }
};

/// f.template operator()<comparison, Compared<T, flushes>>(".ftz" or "", name of T as a Name) for all that compare
/// scalars.
template <class F>
void for_scalar_comparisons(F f) {
  for_types<std::uint16_t, std::uint32_t, std::uint64_t>([&]<class T>() {
    using S = std::make_signed_t<T>;
    for_equalities([&]<Comparison c>() {
      f.template operator()<c, Compared<T>>("", &bits_name_of<T>);
      f.template operator()<c, Compared<T>>("", &name_of<T>);
      f.template operator()<c, Compared<S>>("", &name_of<S>);
    });
    for_orders([&]<Comparison c>() {
      f.template operator()<c, Compared<T>>("", &name_of<T>);
      f.template operator()<c, Compared<S>>("", &name_of<S>);
    });
    for_unsigned_orders([&]<Comparison c>() { f.template operator()<c, Compared<T>>("", &name_of<T>); });
  });
  const auto floats = [&]<Comparison c>() {
    f.template operator()<c, Compared<F16>>("", &name_of<F16>);
    f.template operator()<c, Compared<F16, true>>(".ftz", &name_of<F16>);
    f.template operator()<c, Compared<BF16>>("", &name_of<BF16>);
    f.template operator()<c, Compared<float>>("", &name_of<float>);
    f.template operator()<c, Compared<float, true>>(".ftz", &name_of<float>);
    f.template operator()<c, Compared<double>>("", &name_of<double>);
  };
  for_equalities(floats);
  for_orders(floats);
  for_float_comparisons(floats);
}

}  // namespace tutti::emulator::arithmetic
