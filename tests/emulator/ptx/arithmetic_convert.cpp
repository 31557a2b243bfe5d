// cvt from and to floats.
//
// A number too large for an integer becomes the nearest one. NaN becomes 0, but from f64 or to 64 bits only the
// integer's top bit is set. .ftz is about f32 operands and results, not about the other type.
#include <fmt/format.h>

#include <cmath>

#include "tests/emulator/ptx/arithmetic_host_mode.hpp"

namespace tutti::emulator::arithmetic {
namespace {

/// The name of a rounding to an integer: .rni .rzi .rmi .rpi.
std::string whole_name_of(Rounding rounding) { return fmt::format("{}i", name_of(rounding)); }

template <Rounding rounding, class T>
T whole(T a) {
  switch (rounding) {
    case Rounding::zero: return std::trunc(a);
    case Rounding::down: return std::floor(a);
    case Rounding::up: return std::ceil(a);
    default: return std::nearbyint(a);
  }
}

template <class To, class From, Rounding rounding>
To to_integer(From a) {
  using Limits = std::numeric_limits<To>;
  if (is_nan(a)) {
    const bool to_zero = !std::is_same_v<From, double> && sizeof(To) < 8;
    return to_zero ? To{0} : static_cast<To>(std::uint64_t{1} << (8 * sizeof(To) - 1));
  }
  const double number = whole<rounding>(static_cast<double>(to_host(a)));
  if (number < static_cast<double>(Limits::min())) return Limits::min();
  if (number >= std::ldexp(1.0, Limits::digits)) return Limits::max();
  return static_cast<To>(number);
}

template <class To, class From, Rounding rounding>
To from_integer(From a) {
  if constexpr (std::is_same_v<To, double>) {
    if constexpr (sizeof(From) < 8) {
      return a;
    } else {
      const auto high = static_cast<double>(a >> 32) * 0x1p32, low = static_cast<double>(a & 0xffffffff);
      const double sum = in_mode<rounding>([](double x, double y) { return x + y; }, high, low);
      return sum == 0 ? 0 : sum;  // 0 + -0 does not occur, but a sum of zeros has the sign of the mode
    }
  } else if constexpr (sizeof(From) < 8) {
    return rounded<To, rounding>(a);  // exact in double
  } else {
    // The low 11 bits count only as zero or not, which leaves 53 bits.
    const bool negative = std::cmp_less(a, 0);
    const auto bits = static_cast<std::uint64_t>(a);
    const std::uint64_t magnitude = negative ? 0 - bits : bits;
    const bool small = magnitude >> 53 == 0;
    const std::uint64_t kept = small ? magnitude : (magnitude >> 11 << 11) | ((magnitude & 0x7ff) != 0 ? 0x800 : 0);
    const auto number = static_cast<double>(kept);
    return rounded<To, rounding>(negative ? -number : number);
  }
}

template <class To, class From, Rounding rounding>
To to_narrower(From a) {
  return rounded<To, rounding>(to_host(a));
}
template <class To, class From>
To to_wider(From a) {
  if constexpr (std::is_same_v<To, double>) {
    return static_cast<double>(to_host(a));
  } else {
    return canonical(to_host(a));
  }
}

template <class T>
T same(T a) {
  if constexpr (std::is_same_v<T, double>) {
    return with_nan(a, a);
  } else {
    return is_nan(a) ? canonical_nan(a) : a;
  }
}
template <class T, Rounding rounding>
T to_whole(T a) {
  if constexpr (std::is_same_v<T, double>) {
    return same(whole<rounding>(a));
  } else {
    return rounded<T, Rounding::nearest>(whole<rounding>(to_host(a)));
  }
}

template <class T>
T flushed_if_f32(T a) {
  if constexpr (std::is_same_v<T, float>) return flushed(a);
  return a;
}
template <auto function, bool flushes, bool saturates>
struct Converted;
template <class To, class From, To (*function)(From), bool flushes, bool saturates>
struct Converted<function, flushes, saturates> {
  static To call(From a) {
    if constexpr (flushes) a = flushed_if_f32(a);
    To result = function(a);
    if constexpr (flushes) result = flushed_if_f32(result);
    if constexpr (saturates && is_float<To>) result = saturated(result);
    return result;
  }
};

[[gnu::noinline]] void add_one(Table& table, const std::string& rounding, const char* modifiers, Name to, Name from,
                               Computation one) {
  table.add(fmt::format("cvt{}{}.{}.{}", rounding, modifiers, to(), from()), one);
}

/// cvtROUNDING{.ftz}{.sat}.TO.FROM: .ftz goes with f32, .sat not with bf16.
template <auto function>
struct Conversion;
template <class To, class From, To (*function)(From)>
struct Conversion<function> {
  static constexpr bool has_f32 = std::is_same_v<To, float> || std::is_same_v<From, float>;
  static constexpr bool has_bf16 = std::is_same_v<To, BF16> || std::is_same_v<From, BF16>;

  static void add_to(Table& table, const std::string& rounding) {
    const auto add = [&](const char* modifiers, Computation one) {
      add_one(table, rounding, modifiers, &name_of<To>, &name_of<From>, one);
    };
    add("", computation<&Converted<function, false, false>::call>());
    if constexpr (has_f32) add(".ftz", computation<&Converted<function, true, false>::call>());
    if constexpr (!has_bf16) add(".sat", computation<&Converted<function, false, true>::call>());
    if constexpr (has_f32 && !has_bf16) add(".ftz.sat", computation<&Converted<function, true, true>::call>());
  }
};
template <auto function>
void add_conversion(Table& table, const std::string& rounding) {
  Conversion<function>::add_to(table, rounding);
}

template <class F>
void for_integers(F f) {
  for_types<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, std::int8_t, std::int16_t, std::int32_t,
            std::int64_t>(f);
}

template <Rounding r>
void add_rounding(Table& table) {
  for_types<F16, BF16, float, double>([&]<class T>() {
    for_integers([&]<class Integer>() {
      add_conversion<&to_integer<Integer, T, r>>(table, whole_name_of(r));
      add_conversion<&from_integer<T, Integer, r>>(table, name_of(r));
    });
    add_conversion<&to_whole<T, r>>(table, whole_name_of(r));
  });
  const std::string rounding = name_of(r);
  add_conversion<&to_narrower<F16, float, r>>(table, rounding);
  add_conversion<&to_narrower<BF16, float, r>>(table, rounding);
  add_conversion<&to_narrower<F16, double, r>>(table, rounding);
  add_conversion<&to_narrower<BF16, double, r>>(table, rounding);
  add_conversion<&to_narrower<float, double, r>>(table, rounding);
  add_conversion<&to_narrower<BF16, F16, r>>(table, rounding);
  add_conversion<&to_narrower<F16, BF16, r>>(table, rounding);
}

}  // namespace

void add_float_conversions(Table& table) {
  add_rounding<Rounding::nearest>(table);
  add_rounding<Rounding::zero>(table);
  add_rounding<Rounding::down>(table);
  add_rounding<Rounding::up>(table);
  add_conversion<&to_wider<float, F16>>(table, "");
  add_conversion<&to_wider<float, BF16>>(table, "");
  add_conversion<&to_wider<double, F16>>(table, "");
  add_conversion<&to_wider<double, BF16>>(table, "");
  add_conversion<&to_wider<double, float>>(table, "");
  add_conversion<&same<float>>(table, "");
  add_conversion<&same<double>>(table, "");
  add_conversion<&same<F16>>(table, "");
  add_conversion<&same<BF16>>(table, "");
}

}  // namespace tutti::emulator::arithmetic
