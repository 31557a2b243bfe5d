// set: comparisons that make numbers: 1 in a float type, all ones in an integer type.
#include <fmt/format.h>

#include "tests/emulator/ptx/arithmetic_compare.hpp"

namespace tutti::emulator::arithmetic {
namespace {

template <class T>
T truth(bool value) {
  if constexpr (std::is_same_v<T, F16>) {
    return {static_cast<std::uint16_t>(value ? 0x3c00 : 0)};
  } else if constexpr (std::is_same_v<T, BF16>) {
    return {static_cast<std::uint16_t>(value ? 0x3f80 : 0)};
  } else if constexpr (std::is_same_v<T, float>) {
    return value ? 1.0f : 0.0f;
  } else {
    return static_cast<T>(value ? -1 : 0);
  }
}

template <class To, Comparison comparison, class Kind>
To set(typename Kind::Value a, typename Kind::Value b) {
  return truth<To>(holds<comparison>(Kind::operand(a), Kind::operand(b)));
}
template <class To, Comparison comparison, class Kind, Combination combination>
To set_combined(typename Kind::Value a, typename Kind::Value b, bool c) {
  return truth<To>(combined<combination>(holds<comparison>(Kind::operand(a), Kind::operand(b)), c));
}

/// Of halves: each half of the result is a To; the whole is a Result.
template <class Result, class To, Comparison comparison, class Kind>
Result set_halves(Pair<typename Kind::Value> a, Pair<typename Kind::Value> b) {
  return std::bit_cast<Result>(
      Pair<To>{set<To, comparison, Kind>(a.low, b.low), set<To, comparison, Kind>(a.high, b.high)});
}
template <class Result, class To, Comparison comparison, class Kind, Combination combination>
Result set_halves_combined(Pair<typename Kind::Value> a, Pair<typename Kind::Value> b, bool c) {
  return std::bit_cast<Result>(Pair<To>{set_combined<To, comparison, Kind, combination>(a.low, b.low, c),
                                        set_combined<To, comparison, Kind, combination>(a.high, b.high, c)});
}

template <class To, Comparison comparison, class Kind>
void add_scalars(Table& table, const char* flush, const std::string& type) {
  for_combinations([&]<Combination combination>() {
    const std::string spelling =
        fmt::format("set.{}{}{}.{}.{}", name_of(comparison), name_of(combination), flush, name_of<To>(), type);
    if constexpr (combination == Combination::none) {
      table.add(spelling, computation<&set<To, comparison, Kind>>());
    } else {
      table.add(spelling, computation<&set_combined<To, comparison, Kind, combination>>());
    }
  });
}

template <class Result, class To, Comparison comparison, class Kind>
void add_halves(Table& table, const char* flush) {
  const std::string type = name_of<Pair<typename Kind::Value>>();
  for_combinations([&]<Combination combination>() {
    const std::string spelling =
        fmt::format("set.{}{}{}.{}.{}", name_of(comparison), name_of(combination), flush, name_of<Result>(), type);
    if constexpr (combination == Combination::none) {
      table.add(spelling, computation<&set_halves<Result, To, comparison, Kind>>());
    } else {
      table.add(spelling, computation<&set_halves_combined<Result, To, comparison, Kind, combination>>());
    }
  });
}

template <Comparison comparison, class Kind>
void add_all_halves(Table& table, const char* flush) {
  using Half = typename Kind::Value;
  add_halves<Pair<Half>, Half, comparison, Kind>(table, flush);
  add_halves<std::uint32_t, std::uint16_t, comparison, Kind>(table, flush);
  add_halves<std::int32_t, std::uint16_t, comparison, Kind>(table, flush);
}

}  // namespace

void add_sets(Table& table) {
  for_scalar_comparisons([&]<Comparison comparison, class Kind>(const char* flush, const std::string& type) {
    using From = typename Kind::Value;
    for_types<std::uint32_t, std::int32_t>([&]<class To>() { add_scalars<To, comparison, Kind>(table, flush, type); });
    if constexpr (std::is_same_v<From, F16> || std::is_same_v<From, BF16>) {
      for_types<std::uint16_t, std::int16_t, From>(
          [&]<class To>() { add_scalars<To, comparison, Kind>(table, flush, type); });
    } else {
      add_scalars<float, comparison, Kind>(table, flush, type);
    }
  });
  const auto halves = [&]<Comparison comparison>() {
    add_all_halves<comparison, Compared<F16>>(table, "");
    add_all_halves<comparison, Compared<F16, true>>(table, ".ftz");
    add_all_halves<comparison, Compared<BF16>>(table, "");
  };
  for_equalities(halves);
  for_orders(halves);
  for_float_comparisons(halves);
}

}  // namespace tutti::emulator::arithmetic
