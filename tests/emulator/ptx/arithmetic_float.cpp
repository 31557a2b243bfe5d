// f32 and f64: sums, products, quotients, roots, signs, smaller and larger, in every rounding mode.
//
// f32 rounds other than to nearest as arithmetic_rounding.hpp says; f64 has nothing wider to round from and sets the
// mode of the host.
#include <fmt/format.h>

#include "tests/emulator/ptx/arithmetic_host_mode.hpp"
#include "tests/emulator/ptx/arithmetic_minimum.hpp"

namespace tutti::emulator::arithmetic {
namespace {

template <class T, Rounding rounding>
T add(T a, T b) {
  if constexpr (std::is_same_v<T, double>) {
    return with_nan(in_mode<rounding>([](double x, double y) { return x + y; }, a, b), a, b);
  } else if constexpr (rounding == Rounding::nearest) {
    return canonical(a + b);
  } else {
    return rounded<T, rounding>(sum_to_odd<rounding>(a, b));
  }
}
template <class T, Rounding rounding>
T sub(T a, T b) {
  if constexpr (std::is_same_v<T, double>) {
    return with_nan(in_mode<rounding>([](double x, double y) { return x - y; }, a, b), a, b);
  } else {
    return add<T, rounding>(a, -b);
  }
}
template <class T, Rounding rounding>
T mul(T a, T b) {
  if constexpr (std::is_same_v<T, double>) {
    return with_nan(in_mode<rounding>([](double x, double y) { return x * y; }, a, b), a, b);
  } else if constexpr (rounding == Rounding::nearest) {
    return canonical(a * b);
  } else {
    return rounded<T, rounding>(static_cast<double>(a) * static_cast<double>(b));  // exact in double
  }
}
template <class T, Rounding rounding>
T fma(T a, T b, T c) {
  if constexpr (std::is_same_v<T, double>) {
    return with_nan(in_mode<rounding>([](double x, double y, double z) { return std::fma(x, y, z); }, a, b, c), a, b,
                    c);
  } else {
    return rounded<T, rounding>(sum_to_odd<rounding>(static_cast<double>(a) * static_cast<double>(b), c));
  }
}
// Quotients and roots of f32 may be rounded to double first: one that is not itself a number of 25 bits (a value of f32
// or the middle of two) differs from each by more than 2^-51 of it, so that double is on the same side.
template <class T, Rounding rounding>
T div(T a, T b) {
  if constexpr (std::is_same_v<T, double>) {
    return with_nan(in_mode<rounding>([](double x, double y) { return x / y; }, a, b), a, b);
  } else if constexpr (rounding == Rounding::nearest) {
    return canonical(a / b);
  } else {
    return rounded<T, rounding>(static_cast<double>(a) / static_cast<double>(b));
  }
}
template <class T, Rounding rounding>
T rcp(T a) {
  return div<T, rounding>(T{1}, a);
}
template <class T, Rounding rounding>
T sqrt(T a) {
  if constexpr (std::is_same_v<T, double>) {
    return with_nan(in_mode<rounding>([](double x) { return std::sqrt(x); }, a), a);
  } else if constexpr (rounding == Rounding::nearest) {
    return canonical(std::sqrt(a));
  } else {
    return rounded<T, rounding>(std::sqrt(static_cast<double>(a)));
  }
}

// Signs are bits: NaN keeps its payload.
template <class T>
T neg(T a) {
  return -a;
}
template <class T>
T abs(T a) {
  return std::fabs(a);
}
/// b with the sign of a.
template <class T>
T copysign(T a, T b) {
  return std::copysign(b, a);
}

/// Adds operation.ROUNDING{.ftz}{.sat}.TYPE, and the same without rounding if that means to nearest.
template <auto function, class T, Rounding rounding>
void add_rounded(Table& table, const char* operation, bool also_without_rounding) {
  const auto add = [&](const char* modifiers, Computation one) {
    table.add(fmt::format("{}{}{}.{}", operation, name_of(rounding), modifiers, name_of<T>()), one);
    if (also_without_rounding && rounding == Rounding::nearest)
      table.add(fmt::format("{}{}.{}", operation, modifiers, name_of<T>()), one);
  };
  add("", computation<function>());
  if constexpr (std::is_same_v<T, float>) add(".ftz", computation<modified<function, true>>());
}
/// The forms of two f32 in 64 bits.
template <auto function, Rounding rounding>
void add_pairs(Table& table, const char* operation, bool also_without_rounding) {
  const auto add = [&](const char* flush, Computation one) {
    table.add(fmt::format("{}{}{}.f32x2", operation, name_of(rounding), flush), one);
    if (also_without_rounding && rounding == Rounding::nearest)
      table.add(fmt::format("{}{}.f32x2", operation, flush), one);
  };
  add("", computation<in_halves<function>>());
  add(".ftz", computation<in_halves<modified<function, true>>>());
}
/// The forms of f32 that clamp the result.
template <auto function, Rounding rounding>
void add_saturating(Table& table, const char* operation, bool also_without_rounding) {
  const auto add = [&](const char* modifiers, Computation one) {
    table.add(fmt::format("{}{}{}.f32", operation, name_of(rounding), modifiers), one);
    if (also_without_rounding && rounding == Rounding::nearest)
      table.add(fmt::format("{}{}.f32", operation, modifiers), one);
  };
  add(".sat", computation<modified<function, false, Finish::sat>>());
  add(".ftz.sat", computation<modified<function, true, Finish::sat>>());
}

}  // namespace

void add_float_arithmetic(Table& table) {
  for_values<Rounding::nearest, Rounding::zero, Rounding::down, Rounding::up>([&]<Rounding r>() {
    for_types<float, double>([&]<class T>() {
      add_rounded<&add<T, r>, T, r>(table, "add", true);
      add_rounded<&sub<T, r>, T, r>(table, "sub", true);
      add_rounded<&mul<T, r>, T, r>(table, "mul", true);
      add_rounded<&fma<T, r>, T, r>(table, "fma", false);
      add_rounded<&fma<T, r>, T, r>(table, "mad", false);
      add_rounded<&div<T, r>, T, r>(table, "div", false);
      add_rounded<&rcp<T, r>, T, r>(table, "rcp", false);
      add_rounded<&sqrt<T, r>, T, r>(table, "sqrt", false);
    });
    add_pairs<&add<float, r>, r>(table, "add", true);
    add_pairs<&sub<float, r>, r>(table, "sub", true);
    add_pairs<&mul<float, r>, r>(table, "mul", true);
    add_pairs<&fma<float, r>, r>(table, "fma", false);
    add_saturating<&add<float, r>, r>(table, "add", true);
    add_saturating<&sub<float, r>, r>(table, "sub", true);
    add_saturating<&mul<float, r>, r>(table, "mul", true);
    add_saturating<&fma<float, r>, r>(table, "fma", false);
    add_saturating<&fma<float, r>, r>(table, "mad", false);
  });
  for_types<float, double>([&]<class T>() {
    const std::string type = name_of<T>();
    table.add("neg." + type, computation<&neg<T>>());
    table.add("abs." + type, computation<&abs<T>>());
    table.add("copysign." + type, computation<&copysign<T>>());
  });
  table.add("neg.ftz.f32", computation<modified<&neg<float>, true>>());
  table.add("abs.ftz.f32", computation<modified<&abs<float>, true>>());
  add_choices<float, false, false>(table);
  add_choices<float, true, false>(table);
  table.add("min.f64", computation<&chosen<double, Choice::smaller>>());
  table.add("max.f64", computation<&chosen<double, Choice::larger>>());
}

}  // namespace tutti::emulator::arithmetic
