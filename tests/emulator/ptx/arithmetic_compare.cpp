// setp: comparisons that make predicates.
#include "tests/emulator/ptx/arithmetic_compare.hpp"

#include <fmt/format.h>

namespace tutti::emulator::arithmetic {
namespace {

template <Comparison comparison, class Kind>
bool setp(typename Kind::Value a, typename Kind::Value b) {
  return holds<comparison>(Kind::operand(a), Kind::operand(b));
}
template <Comparison comparison, class Kind, Combination combination>
bool setp_combined(typename Kind::Value a, typename Kind::Value b, bool c) {
  return combined<combination>(setp<comparison, Kind>(a, b), c);
}
/// The second predicate is of the opposite comparison.
template <Comparison comparison, class Kind>
Results<bool, bool> setp_both(typename Kind::Value a, typename Kind::Value b) {
  const bool result = setp<comparison, Kind>(a, b);
  return {result, !result};
}
template <Comparison comparison, class Kind, Combination combination>
Results<bool, bool> setp_both_combined(typename Kind::Value a, typename Kind::Value b, bool c) {
  const bool result = setp<comparison, Kind>(a, b);
  return {combined<combination>(result, c), combined<combination>(!result, c)};
}
/// The first predicate is of the low halves, the second of the high ones.
template <Comparison comparison, class Kind>
Results<bool, bool> setp_halves(Pair<typename Kind::Value> a, Pair<typename Kind::Value> b) {
  return {setp<comparison, Kind>(a.low, b.low), setp<comparison, Kind>(a.high, b.high)};
}
template <Comparison comparison, class Kind, Combination combination>
Results<bool, bool> setp_halves_combined(Pair<typename Kind::Value> a, Pair<typename Kind::Value> b, bool c) {
  return {combined<combination>(setp<comparison, Kind>(a.low, b.low), c),
          combined<combination>(setp<comparison, Kind>(a.high, b.high), c)};
}

[[gnu::noinline]] void add_one(Table& table, Comparison comparison, Combination combination, const char* flush,
                               Name type, Computation one, bool pair) {
  table.add(fmt::format("setp.{}{}{}.{}", name_of(comparison), name_of(combination), flush, type()), one, pair);
}

template <Comparison comparison, class Kind>
void add_scalars(Table& table, const char* flush, Name type) {
  using Value = typename Kind::Value;
  constexpr bool has_pair = !std::is_same_v<Value, F16> && !std::is_same_v<Value, BF16>;
  for_combinations([&]<Combination combination>() {
    const auto add = [&](Computation one, bool pair) {
      add_one(table, comparison, combination, flush, type, one, pair);
    };
    if constexpr (combination == Combination::none) {
      add(computation<&setp<comparison, Kind>>(), false);
      if constexpr (has_pair) add(computation<&setp_both<comparison, Kind>>(), true);
    } else {
      add(computation<&setp_combined<comparison, Kind, combination>>(), false);
      if constexpr (has_pair) add(computation<&setp_both_combined<comparison, Kind, combination>>(), true);
    }
  });
}

template <Comparison comparison, class Kind>
void add_halves(Table& table, const char* flush) {
  constexpr Name type = &name_of<Pair<typename Kind::Value>>;
  for_combinations([&]<Combination combination>() {
    if constexpr (combination == Combination::none) {
      add_one(table, comparison, combination, flush, type, computation<&setp_halves<comparison, Kind>>(), true);
    } else {
      add_one(table, comparison, combination, flush, type,
              computation<&setp_halves_combined<comparison, Kind, combination>>(), true);
    }
  });
}

}  // namespace

void add_comparisons(Table& table) {
  for_scalar_comparisons([&]<Comparison comparison, class Kind>(const char* flush, Name type) {
    add_scalars<comparison, Kind>(table, flush, type);
  });
  const auto halves = [&]<Comparison comparison>() {
    add_halves<comparison, Compared<F16>>(table, "");
    add_halves<comparison, Compared<F16, true>>(table, ".ftz");
    add_halves<comparison, Compared<BF16>>(table, "");
  };
  for_equalities(halves);
  for_orders(halves);
  for_float_comparisons(halves);
}

}  // namespace tutti::emulator::arithmetic
