// cvt that packs two values, to and from 8-bit floats, to tf32, and with .relu or .satfinite; cvt.pack.
//
// Of two operands the first becomes the high part.
#include <fmt/format.h>

#include <algorithm>

#include "tests/emulator/ptx/arithmetic_rounding.hpp"

namespace tutti::emulator::arithmetic {
namespace {

template <class T, Rounding rounding, Overflow overflow, bool relu>
T narrowed(float a) {
  if (relu && !is_nan(a) && std::signbit(a)) a = 0;
  std::uint32_t bits = encoded<T, rounding, overflow>(a);
  if constexpr (std::is_same_v<T, TF32>) bits <<= 13;
  return {static_cast<decltype(T::bits)>(bits)};
}
template <class T, Rounding rounding, Overflow overflow, bool relu>
Pair<T> both_narrowed(float high, float low) {
  return {narrowed<T, rounding, overflow, relu>(low), narrowed<T, rounding, overflow, relu>(high)};
}
template <class T, bool relu>
Pair<T> narrowed_halves(Pair<F16> a) {
  return both_narrowed<T, Rounding::nearest, Overflow::finite, relu>(to_host(a.high), to_host(a.low));
}

F16 widened(E5M2 a) {
  const bool nan = (a.bits & 0x7f) > 0x7c;
  return nan ? canonical_nan(F16{}) : F16{static_cast<std::uint16_t>(a.bits << 8)};
}
F16 widened(E4M3 a) {
  if ((a.bits & 0x7f) == 0x7f) return canonical_nan(F16{});
  // Read as f16 it is 2^8 times too small.
  const F16 small{static_cast<std::uint16_t>((a.bits & 0x80) << 8 | (a.bits & 0x7f) << 7)};
  return {static_cast<std::uint16_t>(encoded<F16, Rounding::nearest>(to_host(small) * 256))};
}
template <class T, bool relu>
Pair<F16> widened_both(Pair<T> a) {
  Pair<F16> result{widened(a.low), widened(a.high)};
  if constexpr (relu) result = {rectified(result.low), rectified(result.high)};
  return result;
}

template <class T>
std::uint32_t clamped_bits(std::int32_t a) {
  const std::int32_t nearest =
      std::clamp<std::int32_t>(a, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
  return static_cast<std::make_unsigned_t<T>>(nearest);
}
template <class T>
std::uint32_t pack_16(std::int32_t high, std::int32_t low) {
  return clamped_bits<T>(high) << 16 | clamped_bits<T>(low);
}
template <class T>
std::uint32_t pack_8(std::int32_t high, std::int32_t low, std::uint32_t above) {
  return above << 16 | clamped_bits<T>(high) << 8 | clamped_bits<T>(low);
}

template <class T, Rounding r>
void add_half_packing(Table& table) {
  const char* rounding = name_of(r);
  const std::string one = name_of<T>(), two = name_of<Pair<T>>();
  const auto add = [&]<Overflow overflow, bool relu>(const char* modifiers) {
    if (modifiers[0] != '\0')  // else it is among the plain conversions
      table.add(fmt::format("cvt{}{}.{}.f32", rounding, modifiers, one),
                computation<&narrowed<T, r, overflow, relu>>());
    table.add(fmt::format("cvt{}{}.{}.f32", rounding, modifiers, two),
              computation<&both_narrowed<T, r, overflow, relu>>());
  };
  add.template operator()<Overflow::ieee, false>("");
  add.template operator()<Overflow::ieee, true>(".relu");
  add.template operator()<Overflow::finite, false>(".satfinite");
  add.template operator()<Overflow::finite, true>(".relu.satfinite");
  add.template operator()<Overflow::finite, true>(".satfinite.relu");
}

template <class T, bool relu>
void add_eight_bits(Table& table, const char* type) {
  const char* modifier = relu ? ".relu" : "";
  table.add(fmt::format("cvt.rn.satfinite{}.{}.f32", modifier, type),
            computation<&both_narrowed<T, Rounding::nearest, Overflow::finite, relu>>());
  table.add(fmt::format("cvt.rn.satfinite{}.{}.f16x2", modifier, type), computation<&narrowed_halves<T, relu>>());
  table.add(fmt::format("cvt.rn{}.f16x2.{}", modifier, type), computation<&widened_both<T, relu>>());
}

template <Rounding r>
void add_tf32(Table& table) {
  const auto add = [&]<Overflow overflow, bool relu>(const char* modifiers) {
    table.add(fmt::format("cvt{}{}.tf32.f32", name_of(r), modifiers),
              computation<&narrowed<TF32, r, overflow, relu>>());
  };
  add.template operator()<Overflow::ieee, false>("");
  add.template operator()<Overflow::finite, false>(".satfinite");
  if constexpr (r != Rounding::nearest_away) {
    add.template operator()<Overflow::ieee, true>(".relu");
    add.template operator()<Overflow::finite, true>(".satfinite.relu");
  }
}

}  // namespace

void add_packed_conversions(Table& table) {
  for_types<F16, BF16>([&]<class T>() {
    add_half_packing<T, Rounding::nearest>(table);
    add_half_packing<T, Rounding::zero>(table);
  });
  for_values<false, true>([&]<bool relu>() {
    add_eight_bits<E4M3, relu>(table, "e4m3x2");
    add_eight_bits<E5M2, relu>(table, "e5m2x2");
  });
  for_values<Rounding::nearest, Rounding::zero, Rounding::nearest_away>([&]<Rounding r>() { add_tf32<r>(table); });
  table.add("cvt.pack.sat.u16.s32", computation<&pack_16<std::uint16_t>>());
  table.add("cvt.pack.sat.s16.s32", computation<&pack_16<std::int16_t>>());
  table.add("cvt.pack.sat.u8.s32.b32", computation<&pack_8<std::uint8_t>>());
  table.add("cvt.pack.sat.s8.s32.b32", computation<&pack_8<std::int8_t>>());
}

}  // namespace tutti::emulator::arithmetic
