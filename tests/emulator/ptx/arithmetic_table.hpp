// The table of all computing instructions, and the families that fill it.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tests/emulator/ptx/arithmetic_values.hpp"

namespace tutti::emulator::arithmetic {

class Table {
 public:
  /// Adds an instruction under its exact spelling; `pair` for the form with two destinations p|q. Throws
  /// std::logic_error if it is there already.
  void add(const std::string& spelling, Computation computation, bool pair = false);
  Computation find(std::string_view spelling, bool pair) const;
  std::vector<std::string_view> spellings() const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  struct Entry {
    Computation single, pair;
  };
  std::unordered_map<std::string, Entry, Hash, std::equal_to<>> entries_;
};

void add_integer_arithmetic(Table& table);
void add_integer_products(Table& table);
void add_carry_chains(Table& table);
void add_bit_operations(Table& table);
void add_comparisons(Table& table);
void add_sets(Table& table);
void add_selections(Table& table);
void add_moves(Table& table);
void add_float_arithmetic(Table& table);
void add_float_functions(Table& table);
void add_half_arithmetic(Table& table);
void add_integer_conversions(Table& table);
void add_float_conversions(Table& table);
void add_packed_conversions(Table& table);

/// Calls `f.template operator()<value>()` for each of the values, so that each makes code of its own.
template <auto... values, class F>
void for_values(F f) {
  (f.template operator()<values>(), ...);
}
/// Calls `f.template operator()<T>()` for each of the types.
template <class... Types, class F>
void for_types(F f) {
  (f.template operator()<Types>(), ...);
}

/// The name of a type in PTX: u8 ... s64, f16 ... f64, and x2 of those.
template <class T>
std::string name_of() {
  if constexpr (std::is_integral_v<T>) {
    return (std::is_signed_v<T> ? 's' : 'u') + std::to_string(8 * sizeof(T));
  } else if constexpr (std::is_same_v<T, F16>) {
    return "f16";
  } else if constexpr (std::is_same_v<T, BF16>) {
    return "bf16";
  } else if constexpr (std::is_same_v<T, float>) {
    return "f32";
  } else if constexpr (std::is_same_v<T, double>) {
    return "f64";
  } else {
    return name_of<decltype(T::low)>() + "x2";
  }
}
/// One of these functions, for those who add a spelling in a function of its own: written out once per spelling, the
/// making of strings would be most of the code.
using Name = std::string (*)();
/// The same as bits: b16, b32, b64.
template <class T>
std::string bits_name_of() {
  return 'b' + std::to_string(8 * sizeof(T));
}

}  // namespace tutti::emulator::arithmetic
