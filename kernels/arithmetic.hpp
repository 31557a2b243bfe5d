// What a reduction means for one element, the same on every executor: widen, combine in the order given, finish once.
#pragma once
#include "kernels/half.hpp"

namespace tutti {

/// What elements of T are added up in: f32 for the 16-bit types, 64 bits for integers that will be divided, else T.
template <class T, bool kDivided = false>
using Accumulator =
    std::conditional_t<std::is_same_v<T, f16> || std::is_same_v<T, bf16>, float,
                       std::conditional_t<kDivided && std::is_integral_v<T>,
                                          std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>, T>>;

/// One element as an accumulator.
template <class A, class T>
TUTTI_HD A widen(T value) {
  if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
    return to_float(value);
  } else {
    return static_cast<A>(value);
  }
}

template <class A>
TUTTI_HD bool is_negative(A value) {
  if constexpr (std::is_same_v<A, double>) {
    std::uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63;
  } else if constexpr (std::is_same_v<A, float>) {
    return bits_of(value) >> 31;
  } else {
    return value < 0;
  }
}

/// a `op` b. Integers wrap; for min and max NaN wins and -0 < +0, whichever side holds them.
template <ReduceOp op, class A>
TUTTI_HD A combine(A a, A b) {
  static_assert(op != ReduceOp::avg, "avg is a sum that finish() divides");
  if constexpr (op == ReduceOp::sum || op == ReduceOp::prod) {
    if constexpr (std::is_integral_v<A>) {
      using U = std::make_unsigned_t<A>;
      // 1u: 8-bit operands become unsigned int, never int.
      const auto x = 1u * static_cast<U>(a);
      const auto y = 1u * static_cast<U>(b);
      return static_cast<A>(op == ReduceOp::sum ? x + y : x * y);
    } else {
      return op == ReduceOp::sum ? a + b : a * b;
    }
  } else if constexpr (std::is_integral_v<A>) {
    return (op == ReduceOp::min ? a < b : b < a) ? a : b;
  } else {
    const bool first =
        op == ReduceOp::min ? (a < b || (a == b && is_negative(a))) : (b < a || (a == b && is_negative(b)));
    return first || a != a ? a : b;
  }
}

/// The accumulator as an element, divided once if `divisor` > 1; integers toward zero, wrapped into T.
template <class T, class A>
TUTTI_HD T finish(A value, std::uint32_t divisor) {
  if (divisor > 1) value = static_cast<A>(value / static_cast<Accumulator<A, true>>(divisor));
  if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
    return from_float<T>(value);
  } else {
    return static_cast<T>(value);
  }
}

}  // namespace tutti
