// Integer instructions except products: sums, quotients, magnitudes, choices.
//
// What PTX leaves open: x / 0 is all ones, x rem 0 is x; the smallest signed number / -1 is itself, with remainder 0.
#include <algorithm>
#include <limits>

#include "tests/emulator/ptx/arithmetic_table.hpp"

namespace tutti::emulator::arithmetic {
namespace {

// Sums wrap around: they are made from 64 bits, of which the low ones are kept.
template <class T>
T add(T a, T b) {
  return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
template <class T>
T sub(T a, T b) {
  return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
template <class T>
T neg(T a) {
  return sub<T>(0, a);
}
template <class T>
T abs(T a) {
  return a < 0 ? neg(a) : a;
}

std::int32_t saturated(std::int64_t value) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(value, std::numeric_limits<std::int32_t>::min(),
                                                            std::numeric_limits<std::int32_t>::max()));
}
std::int32_t add_sat(std::int32_t a, std::int32_t b) { return saturated(std::int64_t{a} + b); }
std::int32_t sub_sat(std::int32_t a, std::int32_t b) { return saturated(std::int64_t{a} - b); }

template <class T>
T div(T a, T b) {
  if (b == 0) return static_cast<T>(-1);
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return neg(a);
  return static_cast<T>(a / b);
}
template <class T>
T rem(T a, T b) {
  if (b == 0) return a;
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return 0;
  return static_cast<T>(a % b);
}

template <class T>
T min(T a, T b) {
  return std::min(a, b);
}
template <class T>
T max(T a, T b) {
  return std::max(a, b);
}
template <class T>
T min_relu(T a, T b) {
  return std::max(std::min(a, b), T{0});
}
template <class T>
T max_relu(T a, T b) {
  return std::max(std::max(a, b), T{0});
}

/// |a - b| + c.
template <class T>
T sad(T a, T b, T c) {
  return add(c, a < b ? sub(b, a) : sub(a, b));
}

}  // namespace

void add_integer_arithmetic(Table& table) {
  for_types<std::uint16_t, std::uint32_t, std::uint64_t, std::int16_t, std::int32_t, std::int64_t>([&]<class T>() {
    const auto named = [](const char* operation) { return operation + name_of<T>(); };
    table.add(named("add."), computation<&add<T>>());
    table.add(named("sub."), computation<&sub<T>>());
    table.add(named("div."), computation<&div<T>>());
    table.add(named("rem."), computation<&rem<T>>());
    table.add(named("min."), computation<&min<T>>());
    table.add(named("max."), computation<&max<T>>());
    table.add(named("sad."), computation<&sad<T>>());
    if constexpr (std::is_signed_v<T>) {
      table.add(named("neg."), computation<&neg<T>>());
      table.add(named("abs."), computation<&abs<T>>());
    }
  });
  for_types<std::uint16_t, std::int16_t>([&]<class T>() {
    const std::string type = name_of<Pair<T>>();
    table.add("add." + type, computation<in_halves<&add<T>>>());
    table.add("min." + type, computation<in_halves<&min<T>>>());
    table.add("max." + type, computation<in_halves<&max<T>>>());
  });
  table.add("add.sat.s32", computation<&add_sat>());
  table.add("sub.sat.s32", computation<&sub_sat>());
  table.add("min.relu.s32", computation<&min_relu<std::int32_t>>());
  table.add("max.relu.s32", computation<&max_relu<std::int32_t>>());
  table.add("min.relu.s16x2", computation<in_halves<&min_relu<std::int16_t>>>());
  table.add("max.relu.s16x2", computation<in_halves<&max_relu<std::int16_t>>>());
  // CUDA's headers write the modifier last.
  table.add("min.s32.relu", computation<&min_relu<std::int32_t>>());
  table.add("max.s32.relu", computation<&max_relu<std::int32_t>>());
  table.add("min.s16x2.relu", computation<in_halves<&min_relu<std::int16_t>>>());
  table.add("max.s16x2.relu", computation<in_halves<&max_relu<std::int16_t>>>());
}

}  // namespace tutti::emulator::arithmetic
