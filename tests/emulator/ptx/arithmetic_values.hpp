// The values that computing instructions work on, how slots hold them, and how a plain function becomes a Computation.
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "tests/emulator/ptx/arithmetic.hpp"

namespace tutti::emulator::arithmetic {

struct F16 {
  std::uint16_t bits;
};
struct BF16 {
  std::uint16_t bits;
};
/// The 8-bit floats: 4 exponent bits without infinity, and 5 exponent bits with.
struct E4M3 {
  std::uint8_t bits;
};
struct E5M2 {
  std::uint8_t bits;
};
/// f32 with the significand of f16.
struct TF32 {
  std::uint32_t bits;
};

/// What an x2 type holds.
template <class T>
struct Pair {
  T low, high;
};

/// The values of an instruction with two destinations.
template <class First, class Second>
struct Results {
  First first;
  Second second;
};

/// The value of type T in a slot's low bits.
template <class T>
T value_in(std::uint64_t slot) {
  if constexpr (std::is_same_v<T, bool>) {
    return (slot & 1) != 0;
  } else {
    T value;
    static_assert(sizeof value <= sizeof slot && std::is_trivially_copyable_v<T>);
    std::memcpy(&value, &slot, sizeof value);  // the low bytes come first: hosts are little-endian
    return value;
  }
}

/// What a slot holds for a value: extended with its sign if it is signed, else with zeros.
template <class T>
std::uint64_t slot_of(T value) {
  if constexpr (std::is_integral_v<T>) {
    if constexpr (std::is_signed_v<T>) return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    return static_cast<std::uint64_t>(value);
  } else {
    std::uint64_t slot = 0;
    std::memcpy(&slot, &value, sizeof value);
    return slot;
  }
}

template <auto function>
struct Caller;

template <class Result, class... Arguments, Result (*function)(Arguments...)>
struct Caller<function> {
  static void compute(std::uint64_t* slots, const Instruction& instruction) {
    call(slots, instruction, std::index_sequence_for<Arguments...>{});
  }

  static constexpr Computation computation() {
    return {&compute, destinations(static_cast<Result*>(nullptr)), static_cast<int>(sizeof...(Arguments))};
  }

 private:
  template <std::size_t... index>
  static void call(std::uint64_t* slots, const Instruction& instruction, std::index_sequence<index...>) {
    store(slots, instruction, function(value_in<Arguments>(slots[instruction.from[index]])...));
  }
  template <class T>
  static void store(std::uint64_t* slots, const Instruction& instruction, T value) {
    slots[instruction.to[0]] = slot_of(value);
  }
  template <class First, class Second>
  static void store(std::uint64_t* slots, const Instruction& instruction, Results<First, Second> results) {
    slots[instruction.to[0]] = slot_of(results.first);
    slots[instruction.to[1]] = slot_of(results.second);
  }
  template <class T>
  static constexpr int destinations(T*) {
    return 1;
  }
  template <class First, class Second>
  static constexpr int destinations(Results<First, Second>*) {
    return 2;
  }
};

/// The computation that calls `function`, a pointer to a function of values: its parameters are the operands.
template <auto function>
constexpr Computation computation() {
  return Caller<function>::computation();
}

/// Both halves by a function of scalars.
template <auto function>
struct Halves;
template <class Result, class... Arguments, Result (*function)(Arguments...)>
struct Halves<function> {
  static Pair<Result> call(Pair<Arguments>... arguments) {
    return {function(arguments.low...), function(arguments.high...)};
  }
};
template <auto function>
inline constexpr auto in_halves = &Halves<function>::call;

}  // namespace tutti::emulator::arithmetic
