// What atomics compute, and values as slots hold them.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "tests/emulator/ptx/arithmetic_minimum.hpp"
#include "tests/emulator/ptx/arithmetic_rounding.hpp"

namespace tutti::emulator {
namespace arithmetic {
namespace {

template <class T>
T sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else if constexpr (std::is_same_v<T, double>) {
    return with_nan(a + b, a, b);
  } else if constexpr (std::is_same_v<T, float>) {
    return canonical(a + b);
  } else {
    return rounded<T, Rounding::nearest>(sum_to_odd<Rounding::nearest>(to_host(a), to_host(b)));
  }
}

template <class T>
T smaller(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return std::min(a, b);
  else
    return chosen<T, Choice::smaller>(a, b);
}
template <class T>
T larger(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return std::max(a, b);
  else
    return chosen<T, Choice::larger>(a, b);
}

[[noreturn]] void refuse(AtomicOperation operation, Type type) {
  throw std::logic_error(fmt::format("there is no atomic operation {} of type {} (see AtomicOperation, Type)",
                                     static_cast<int>(operation), static_cast<int>(type)));
}

/// add, min and max of numbers; `function` applies a function of T.
template <class T, class F>
std::uint64_t of_numbers(AtomicOperation operation, Type type, F apply) {
  switch (operation) {
    case AtomicOperation::add: return apply(&sum<T>);
    case AtomicOperation::min: return apply(&smaller<T>);
    case AtomicOperation::max: return apply(&larger<T>);
    default: refuse(operation, type);
  }
}
template <class T>
std::uint64_t of_scalars(AtomicOperation operation, Type type, std::uint64_t a, std::uint64_t b) {
  return of_numbers<T>(operation, type,
                       [&](T (*function)(T, T)) { return slot_of(function(value_in<T>(a), value_in<T>(b))); });
}
template <class T>
std::uint64_t of_halves(AtomicOperation operation, Type type, std::uint64_t a, std::uint64_t b) {
  return of_numbers<T>(operation, type, [&](T (*function)(T, T)) {
    const auto x = value_in<Pair<T>>(a), y = value_in<Pair<T>>(b);
    return slot_of(Pair<T>{function(x.low, y.low), function(x.high, y.high)});
  });
}

std::uint64_t of_type(AtomicOperation operation, Type type, std::uint64_t a, std::uint64_t b) {
  switch (type) {
    case Type::u16: return of_scalars<std::uint16_t>(operation, type, a, b);
    case Type::u32: return of_scalars<std::uint32_t>(operation, type, a, b);
    case Type::u64: return of_scalars<std::uint64_t>(operation, type, a, b);
    case Type::s16: return of_scalars<std::int16_t>(operation, type, a, b);
    case Type::s32: return of_scalars<std::int32_t>(operation, type, a, b);
    case Type::s64: return of_scalars<std::int64_t>(operation, type, a, b);
    case Type::f32: return of_scalars<float>(operation, type, a, b);
    case Type::f64: return of_scalars<double>(operation, type, a, b);
    case Type::f16: return of_scalars<F16>(operation, type, a, b);
    case Type::bf16: return of_scalars<BF16>(operation, type, a, b);
    case Type::f16x2: return of_halves<F16>(operation, type, a, b);
    case Type::bf16x2: return of_halves<BF16>(operation, type, a, b);
    default: refuse(operation, type);
  }
}

}  // namespace
}  // namespace arithmetic

std::uint64_t extended(std::uint64_t bits, Type type) {
  using namespace arithmetic;
  switch (type) {
    case Type::none: return 0;
    case Type::pred: return bits & 1;
    case Type::s8: return slot_of(value_in<std::int8_t>(bits));
    case Type::s16: return slot_of(value_in<std::int16_t>(bits));
    case Type::s32: return slot_of(value_in<std::int32_t>(bits));
    default: break;
  }
  const int bytes = bytes_of(type);
  return bytes >= 8 ? bits : bits & ((std::uint64_t{1} << 8 * bytes) - 1);
}

std::uint64_t apply_atomic(AtomicOperation operation, Type type, std::uint64_t old, std::uint64_t operand,
                           std::uint64_t next) {
  old = extended(old, type);
  operand = extended(operand, type);
  switch (operation) {
    case AtomicOperation::exchange: return operand;
    case AtomicOperation::compare_and_swap: return old == operand ? extended(next, type) : old;
    case AtomicOperation::bit_and: return old & operand;
    case AtomicOperation::bit_or: return old | operand;
    case AtomicOperation::bit_xor: return old ^ operand;
    case AtomicOperation::increment: return old >= operand ? 0 : old + 1;
    case AtomicOperation::decrement: return old == 0 || old > operand ? operand : old - 1;
    default: return arithmetic::of_type(operation, type, old, operand);
  }
}

}  // namespace tutti::emulator
