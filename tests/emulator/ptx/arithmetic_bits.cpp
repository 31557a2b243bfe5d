// Logic, shifts, and instructions on fields and bytes.
#include <algorithm>
#include <bit>

#include "tests/emulator/ptx/arithmetic_table.hpp"

namespace tutti::emulator::arithmetic {
namespace {

template <class T>
T bit_and(T a, T b) {
  return static_cast<T>(a & b);
}
template <class T>
T bit_or(T a, T b) {
  return static_cast<T>(a | b);
}
template <class T>
T bit_xor(T a, T b) {
  return static_cast<T>(a ^ b);
}
template <class T>
T bit_not(T a) {
  if constexpr (std::is_same_v<T, bool>) {
    return !a;
  } else {
    return static_cast<T>(~a);
  }
}
template <class T>
T cnot(T a) {
  return a == 0 ? T{1} : T{0};
}

/// Bit i of the result is bit 4a + 2b + c of the table, where a, b, c are bits i of the operands.
std::uint32_t lop3(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t table) {
  std::uint32_t result = 0;
  for (std::uint32_t row = 0; row < 8; ++row) {
    const std::uint32_t chosen = 0 - (table >> row & 1);
    result |= chosen & (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
  }
  return result;
}
Results<std::uint32_t, bool> lop3_or(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t table, bool p) {
  const std::uint32_t result = lop3(a, b, c, table);
  return {result, result != 0 || p};
}
Results<std::uint32_t, bool> lop3_and(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t table, bool p) {
  const std::uint32_t result = lop3(a, b, c, table);
  return {result, result != 0 && p};
}

// Shifts by more than the width act like a shift by the width.
template <class T>
T shl(T a, std::uint32_t by) {
  return by < 8 * sizeof(T) ? static_cast<T>(static_cast<std::uint64_t>(a) << by) : T{0};
}
template <class T>
T shr(T a, std::uint32_t by) {
  constexpr std::uint32_t bits = 8 * sizeof(T);
  if constexpr (std::is_signed_v<T>) return static_cast<T>(a >> std::min(by, bits - 1));
  return by < bits ? static_cast<T>(a >> by) : T{0};
}

// Funnel shifts move the 64 bits of b:a.
std::uint64_t joined(std::uint32_t low, std::uint32_t high) { return std::uint64_t{high} << 32 | low; }
template <bool wraps>
std::uint32_t funnel_left(std::uint32_t a, std::uint32_t b, std::uint32_t by) {
  return static_cast<std::uint32_t>(joined(a, b) << (wraps ? by & 31 : std::min(by, 32u)) >> 32);
}
template <bool wraps>
std::uint32_t funnel_right(std::uint32_t a, std::uint32_t b, std::uint32_t by) {
  return static_cast<std::uint32_t>(joined(a, b) >> (wraps ? by & 31 : std::min(by, 32u)));
}

/// Where prmt takes byte i of its result from; the control is c.
enum class Permutation { any, forward, backward, replicate, clamp_left, clamp_right, halves };
template <Permutation mode>
std::uint32_t prmt(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const std::uint64_t bytes = joined(a, b);
  std::uint32_t result = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::uint32_t control = c & 3;
    std::uint32_t chosen = 0;
    switch (mode) {
      case Permutation::any: chosen = c >> 4 * i & 7; break;
      case Permutation::forward: chosen = control + i; break;
      case Permutation::backward: chosen = (control - i) & 7; break;
      case Permutation::replicate: chosen = control; break;
      case Permutation::clamp_left: chosen = std::max(control, i); break;
      case Permutation::clamp_right: chosen = std::min(control, i); break;
      case Permutation::halves: chosen = 2 * (control & 1) + (i & 1); break;
    }
    auto byte = static_cast<std::uint32_t>(bytes >> 8 * chosen & 0xff);
    const bool sign_only = mode == Permutation::any && (c >> 4 * i & 8) != 0;
    if (sign_only) byte = byte & 0x80 ? 0xff : 0;
    result |= byte << 8 * i;
  }
  return result;
}

template <class T>
std::uint32_t popc(T a) {
  return static_cast<std::uint32_t>(std::popcount(a));
}
template <class T>
std::uint32_t clz(T a) {
  return static_cast<std::uint32_t>(std::countl_zero(a));
}
/// The most significant bit that is not the sign, as its number or as the shift that moves it to the top.
template <class T, bool shift_amount>
std::uint32_t bfind(T a) {
  auto bits = static_cast<std::make_unsigned_t<T>>(a);
  if (std::is_signed_v<T> && a < 0) bits = static_cast<std::make_unsigned_t<T>>(~bits);
  if (bits == 0) return 0xffffffff;
  const auto zeros = static_cast<std::uint32_t>(std::countl_zero(bits));
  return shift_amount ? zeros : 8 * sizeof(T) - 1 - zeros;
}
template <class T>
T brev(T a) {
  T result = 0;
  for (unsigned bit = 0; bit < 8 * sizeof(T); ++bit) result = static_cast<T>(result << 1 | (a >> bit & 1));
  return result;
}
/// The position of the n-th one in `mask`, counted from bit `base`: upwards if n > 0, downwards if n < 0.
std::uint32_t fns(std::uint32_t mask, std::uint32_t base, std::int32_t n) {
  constexpr std::uint32_t none = 0xffffffff;
  if (base > 31) return none;
  if (n == 0) return mask >> base & 1 ? base : none;
  std::uint32_t left = n > 0 ? static_cast<std::uint32_t>(n) : 0 - static_cast<std::uint32_t>(n);
  for (std::uint32_t at = base; at<32; at = n> 0 ? at + 1 : at - 1)
    if ((mask >> at & 1) && --left == 0) return at;
  return none;
}

/// A mask of bits [0, count) of T; all if there are fewer.
template <class T>
T low_bits(std::uint32_t count) {
  return count >= 8 * sizeof(T) ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << count) - 1);
}
/// The field of `length` bits from bit `position` on; a signed one is extended with its last bit that exists. Only the
/// low bytes of position and length count.
template <class T>
T bfe(T a, std::uint32_t position, std::uint32_t length) {
  using U = std::make_unsigned_t<T>;
  constexpr std::uint32_t top = 8 * sizeof(T) - 1;
  position &= 0xff;
  length &= 0xff;
  if (length == 0) return 0;
  const U field = position > top ? U{0} : static_cast<U>(static_cast<U>(a) >> position);
  if constexpr (std::is_signed_v<T>) {
    const bool negative = static_cast<U>(a) >> std::min(position + length - 1, top) & 1;
    const std::uint32_t there = position > top ? 0 : std::min(length, top + 1 - position);
    const U mask = low_bits<U>(there);
    return static_cast<T>((field & mask) | (negative ? static_cast<U>(~mask) : U{0}));
  } else {
    return static_cast<T>(field & low_bits<U>(length));
  }
}
/// b with the low `length` bits of a at `position`.
template <class T>
T bfi(T a, T b, std::uint32_t position, std::uint32_t length) {
  position &= 0xff;
  if (position >= 8 * sizeof(T)) return b;
  const T mask = static_cast<T>(low_bits<T>(length & 0xff) << position);
  return static_cast<T>((b & static_cast<T>(~mask)) | (static_cast<T>(a << position) & mask));
}

void add_logic_and_shifts(Table& table) {
  for_types<bool, std::uint16_t, std::uint32_t, std::uint64_t>([&]<class T>() {
    const std::string type = std::is_same_v<T, bool> ? "pred" : bits_name_of<T>();
    table.add("and." + type, computation<&bit_and<T>>());
    table.add("or." + type, computation<&bit_or<T>>());
    table.add("xor." + type, computation<&bit_xor<T>>());
    table.add("not." + type, computation<&bit_not<T>>());
    if constexpr (!std::is_same_v<T, bool>) {
      using S = std::make_signed_t<T>;
      table.add("cnot." + type, computation<&cnot<T>>());
      table.add("shl." + type, computation<&shl<T>>());
      table.add("shr." + type, computation<&shr<T>>());
      table.add("shr." + name_of<T>(), computation<&shr<T>>());
      table.add("shr." + name_of<S>(), computation<&shr<S>>());
    }
  });
  table.add("lop3.b32", computation<&lop3>());
  table.add("lop3.or.b32", computation<&lop3_or>(), true);
  table.add("lop3.and.b32", computation<&lop3_and>(), true);
  table.add("shf.l.wrap.b32", computation<&funnel_left<true>>());
  table.add("shf.l.clamp.b32", computation<&funnel_left<false>>());
  table.add("shf.r.wrap.b32", computation<&funnel_right<true>>());
  table.add("shf.r.clamp.b32", computation<&funnel_right<false>>());
}

}  // namespace

void add_bit_operations(Table& table) {
  add_logic_and_shifts(table);
  table.add("prmt.b32", computation<&prmt<Permutation::any>>());
  table.add("prmt.b32.f4e", computation<&prmt<Permutation::forward>>());
  table.add("prmt.b32.b4e", computation<&prmt<Permutation::backward>>());
  table.add("prmt.b32.rc8", computation<&prmt<Permutation::replicate>>());
  table.add("prmt.b32.ecl", computation<&prmt<Permutation::clamp_left>>());
  table.add("prmt.b32.ecr", computation<&prmt<Permutation::clamp_right>>());
  table.add("prmt.b32.rc16", computation<&prmt<Permutation::halves>>());
  for_types<std::uint32_t, std::uint64_t>([&]<class T>() {
    const std::string type = bits_name_of<T>();
    table.add("popc." + type, computation<&popc<T>>());
    table.add("clz." + type, computation<&clz<T>>());
    table.add("brev." + type, computation<&brev<T>>());
    table.add("bfi." + type, computation<&bfi<T>>());
  });
  for_types<std::uint32_t, std::uint64_t, std::int32_t, std::int64_t>([&]<class T>() {
    const std::string type = name_of<T>();
    table.add("bfind." + type, computation<&bfind<T, false>>());
    table.add("bfind.shiftamt." + type, computation<&bfind<T, true>>());
    table.add("bfe." + type, computation<&bfe<T>>());
  });
  table.add("fns.b32", computation<&fns>());
}

}  // namespace tutti::emulator::arithmetic
