// set: comparisons that make numbers: 1 in a float type, all ones in an integer type. The forms that combine the result
// with a predicate are left out: nvcc never emits them, and they are four times as many.
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
/// Of halves: each half of the result is a To; the whole is a Result.
template <class Result, class To, Comparison comparison, class Kind>
Result set_halves(Pair<typename Kind::Value> a, Pair<typename Kind::Value> b) {
  return std::bit_cast<Result>(
      Pair<To>{set<To, comparison, Kind>(a.low, b.low), set<To, comparison, Kind>(a.high, b.high)});
}
[[gnu::noinline]] void add_one(Table& table, Comparison comparison, const char* flush, Name result, Name type,
                               Computation one) {
  table.add(fmt::format("set.{}{}.{}.{}", name_of(comparison), flush, result(), type()), one);
}
template <class To, Comparison comparison, class Kind>
void add_scalars(Table& table, const char* flush, Name type) {
  add_one(table, comparison, flush, &name_of<To>, type, computation<&set<To, comparison, Kind>>());
}
template <class Result, class To, Comparison comparison, class Kind>
void add_halves(Table& table, const char* flush) {
  constexpr Name type = &name_of<Pair<typename Kind::Value>>;
  add_one(table, comparison, flush, &name_of<Result>, type, computation<&set_halves<Result, To, comparison, Kind>>());
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
  for_scalar_comparisons([&]<Comparison comparison, class Kind>(const char* flush, Name type) {
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
