// f16, bf16 and pairs of them.
#include "tests/emulator/ptx/arithmetic_minimum.hpp"
#include "tests/emulator/ptx/arithmetic_rounding.hpp"

namespace tutti::emulator::arithmetic {
namespace {

// All exact or rounded to odd in double, so that they round once.
template <class T>
T add(T a, T b) {
  return rounded<T, Rounding::nearest>(sum_to_odd<Rounding::nearest>(to_host(a), to_host(b)));
}
template <class T>
T sub(T a, T b) {
  return rounded<T, Rounding::nearest>(sum_to_odd<Rounding::nearest>(to_host(a), -to_host(b)));
}
template <class T>
T mul(T a, T b) {
  return rounded<T, Rounding::nearest>(static_cast<double>(to_host(a)) * static_cast<double>(to_host(b)));
}
template <class T>
T fma(T a, T b, T c) {
  const double product = static_cast<double>(to_host(a)) * static_cast<double>(to_host(b));
  return rounded<T, Rounding::nearest>(sum_to_odd<Rounding::nearest>(product, to_host(c)));
}
// Signs are bits: NaN keeps its payload.
template <class T>
T neg(T a) {
  return {static_cast<std::uint16_t>(a.bits ^ 0x8000)};
}
template <class T>
T abs(T a) {
  return {static_cast<std::uint16_t>(a.bits & 0x7fff)};
}

/// Adds a function of scalars under `operation`.TYPE, and of pairs under `operation`.TYPEx2.
template <class T, auto function>
void add_both(Table& table, const std::string& operation) {
  table.add(fmt::format("{}.{}", operation, name_of<T>()), computation<function>());
  table.add(fmt::format("{}.{}", operation, name_of<Pair<T>>()), computation<in_halves<function>>());
}

template <class T, auto function, bool flushes>
void add_sum(Table& table, const char* operation) {
  for (const char* rounding : {"", ".rn"}) {
    const std::string spelling = fmt::format("{}{}{}", operation, rounding, flush_name(flushes));
    add_both<T, modified<function, flushes>>(table, spelling);
    if constexpr (std::is_same_v<T, F16>)
      add_both<T, modified<function, flushes, Finish::sat>>(table, fmt::format("{}.sat", spelling));
  }
}

template <class T, bool flushes>
void add_all(Table& table) {
  const char* flush = flush_name(flushes);
  add_sum<T, &add<T>, flushes>(table, "add");
  add_sum<T, &sub<T>, flushes>(table, "sub");
  add_sum<T, &mul<T>, flushes>(table, "mul");
  add_both<T, modified<&fma<T>, flushes>>(table, fmt::format("fma.rn{}", flush));
  add_both<T, modified<&fma<T>, flushes, Finish::relu>>(table, fmt::format("fma.rn{}.relu", flush));
  if constexpr (std::is_same_v<T, F16>)
    add_both<T, modified<&fma<T>, flushes, Finish::sat>>(table, fmt::format("fma.rn{}.sat", flush));
  add_both<T, modified<&neg<T>, flushes>>(table, fmt::format("neg{}", flush));
  add_both<T, modified<&abs<T>, flushes>>(table, fmt::format("abs{}", flush));
  add_choices<T, flushes, false>(table);
  add_choices<T, flushes, true>(table);
}

}  // namespace

void add_half_arithmetic(Table& table) {
  add_all<F16, false>(table);
  add_all<F16, true>(table);
  add_all<BF16, false>(table);
}

}  // namespace tutti::emulator::arithmetic
