// Products of integers that need twice as many bits.
#pragma once
#include <cstdint>
#include <type_traits>

namespace tutti::emulator::arithmetic {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;

template <class T>
struct WideOf;
template <>
struct WideOf<std::uint16_t> : std::type_identity<std::uint32_t> {};
template <>
struct WideOf<std::uint32_t> : std::type_identity<std::uint64_t> {};
template <>
struct WideOf<std::uint64_t> : std::type_identity<UInt128> {};
template <>
struct WideOf<std::int16_t> : std::type_identity<std::int32_t> {};
template <>
struct WideOf<std::int32_t> : std::type_identity<std::int64_t> {};
template <>
struct WideOf<std::int64_t> : std::type_identity<Int128> {};
/// The integer of twice as many bits.
template <class T>
using Wide = typename WideOf<T>::type;

template <class T>
T mul_lo(T a, T b) {
  return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
template <class T>
T mul_hi(T a, T b) {
  return static_cast<T>((static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b)) >> (8 * sizeof(T)));
}

}  // namespace tutti::emulator::arithmetic
