// Integer instructions against 128-bit arithmetic.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/emulator/ptx/arithmetic_trial.hpp"

namespace tutti::emulator::trial {
namespace {

const std::vector<std::string> kTypes = {"u16", "u32", "u64", "s16", "s32", "s64"};

using Numbers = std::vector<Int128>;
/// Checks NAME.TYPE on numbers instead of bits; the result wraps around.
void check_numbers(const std::string& spelling, const Kind& kind, std::size_t operands,
                   const std::function<Int128(const Numbers&)>& expected) {
  check(spelling, std::vector<Kind>(operands, kind), kind, [&](std::span<const Bits> bits) {
    Numbers values;
    for (const Bits value : bits) values.push_back(number(value, kind));
    return static_cast<Bits>(expected(values));
  });
}
void check_number_halves(const std::string& spelling, const Kind& kind,
                         const std::function<Int128(const Numbers&)>& expected) {
  check_halves(spelling, {kind, kind}, kind, [&](std::span<const Bits> bits) {
    return static_cast<Bits>(expected({number(bits[0], kind), number(bits[1], kind)}));
  });
}

Int128 magnitude(Int128 a) { return a < 0 ? -a : a; }
Int128 into(Int128 value, Int128 least, Int128 most) { return value < least ? least : value > most ? most : value; }
Int128 into_s32(Int128 value) { return into(value, -(Int128{1} << 31), (Int128{1} << 31) - 1); }

TEST(PtxInteger, AddsAndSubtractsWithWraparound) {
  for (const std::string& type : kTypes) {
    check_numbers("add." + type, type, 2, [](const Numbers& v) { return v[0] + v[1]; });
    check_numbers("sub." + type, type, 2, [](const Numbers& v) { return v[0] - v[1]; });
  }
  for (const char* type : {"u16", "s16"})
    check_number_halves(std::string("add.") + type + "x2", type, [](const Numbers& v) { return v[0] + v[1]; });
}

TEST(PtxInteger, SaturatesOnlyWhereAsked) {
  check_numbers("add.sat.s32", "s32", 2, [](const Numbers& v) { return into_s32(v[0] + v[1]); });
  check_numbers("sub.sat.s32", "s32", 2, [](const Numbers& v) { return into_s32(v[0] - v[1]); });
}

TEST(PtxInteger, DividesTowardZeroAndHasADefinedResultForZeroAndOverflow) {
  for (const std::string& type : kTypes) {
    check_numbers("div." + type, type, 2, [](const Numbers& v) { return v[1] == 0 ? -1 : v[0] / v[1]; });
    check_numbers("rem." + type, type, 2, [](const Numbers& v) { return v[1] == 0 ? v[0] : v[0] % v[1]; });
  }
}

TEST(PtxInteger, NegatesAndTakesMagnitudes) {
  for (const char* type : {"s16", "s32", "s64"}) {
    check_numbers(std::string("neg.") + type, type, 1, [](const Numbers& v) { return -v[0]; });
    check_numbers(std::string("abs.") + type, type, 1, [](const Numbers& v) { return magnitude(v[0]); });
  }
  for (const std::string& type : kTypes)
    check_numbers("sad." + type, type, 3, [](const Numbers& v) { return v[2] + magnitude(v[0] - v[1]); });
}

TEST(PtxInteger, ChoosesTheSmallerAndTheLarger) {
  for (const std::string& type : kTypes) {
    check_numbers("min." + type, type, 2, [](const Numbers& v) { return std::min(v[0], v[1]); });
    check_numbers("max." + type, type, 2, [](const Numbers& v) { return std::max(v[0], v[1]); });
  }
  for (const char* type : {"u16", "s16"}) {
    check_number_halves(std::string("min.") + type + "x2", type, [](const Numbers& v) { return std::min(v[0], v[1]); });
    check_number_halves(std::string("max.") + type + "x2", type, [](const Numbers& v) { return std::max(v[0], v[1]); });
  }
  const auto smaller = [](const Numbers& v) { return std::max<Int128>(std::min(v[0], v[1]), 0); };
  const auto larger = [](const Numbers& v) { return std::max<Int128>(std::max(v[0], v[1]), 0); };
  for (const char* spelling : {"min.relu.s32", "min.s32.relu"}) check_numbers(spelling, "s32", 2, smaller);
  for (const char* spelling : {"max.relu.s32", "max.s32.relu"}) check_numbers(spelling, "s32", 2, larger);
  for (const char* spelling : {"min.relu.s16x2", "min.s16x2.relu"}) check_number_halves(spelling, "s16", smaller);
  for (const char* spelling : {"max.relu.s16x2", "max.s16x2.relu"}) check_number_halves(spelling, "s16", larger);
}

/// The upper half of a product, from products of 32-bit halves: 128 bits would not hold a wide unsigned one with sign.
Bits high_product(Bits a, Bits b, const Kind& kind) {
  if (kind.bits < 64) return static_cast<Bits>((number(a, kind) * number(b, kind)) >> kind.bits);
  const Bits a0 = a & 0xffffffff, a1 = a >> 32, b0 = b & 0xffffffff, b1 = b >> 32;
  const Bits middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (middle & 0xffffffff);
  Bits high = a1 * b1 + (middle >> 32) + (other >> 32);
  if (kind.is_signed && a >> 63) high -= b;
  if (kind.is_signed && b >> 63) high -= a;
  return high;
}

TEST(PtxInteger, MultipliesIntoLowHighAndWideHalves) {
  for (const std::string& type : kTypes) {
    const Kind kind = type;
    check("mul.lo." + type, {kind, kind}, kind, [](auto v) { return v[0] * v[1]; });
    check("mad.lo." + type, {kind, kind, kind}, kind, [](auto v) { return v[0] * v[1] + v[2]; });
    check("mul.hi." + type, {kind, kind}, kind, [&](auto v) { return high_product(v[0], v[1], kind); });
    check("mad.hi." + type, {kind, kind, kind}, kind, [&](auto v) { return high_product(v[0], v[1], kind) + v[2]; });
    if (kind.bits == 64) continue;
    const Kind wide = type.substr(0, 1) + std::to_string(2 * kind.bits);
    const auto product = [&](auto v) { return static_cast<Bits>(number(v[0], kind) * number(v[1], kind)); };
    check("mul.wide." + type, {kind, kind}, wide, product);
    check("mad.wide." + type, {kind, kind, wide}, wide, [&](auto v) { return product(v) + v[2]; });
  }
  const Kind s32 = "s32";
  check("mad.hi.sat.s32", {s32, s32, s32}, s32, [&](auto v) {
    return static_cast<Bits>(into_s32(((number(v[0], s32) * number(v[1], s32)) >> 32) + number(v[2], s32)));
  });
}

TEST(PtxInteger, MultipliesTheLow24Bits) {
  for (const char* type : {"u32", "s32"}) {
    const Kind kind = type;
    const auto product = [&](std::span<const Bits> v) {
      Int128 factors[2] = {static_cast<Int128>(v[0] & 0xffffff), static_cast<Int128>(v[1] & 0xffffff)};
      for (Int128& factor : factors)
        if (kind.is_signed && factor >= 1 << 23) factor -= 1 << 24;
      return factors[0] * factors[1];
    };
    const auto top = [&](std::span<const Bits> v) { return low(static_cast<Bits>(product(v) >> 16), 32); };
    check(std::string("mul24.lo.") + type, {kind, kind}, kind, [&](auto v) { return static_cast<Bits>(product(v)); });
    check(std::string("mul24.hi.") + type, {kind, kind}, kind, top);
    check(std::string("mad24.lo.") + type, {kind, kind, kind}, kind,
          [&](auto v) { return static_cast<Bits>(product(v)) + v[2]; });
    check(std::string("mad24.hi.") + type, {kind, kind, kind}, kind, [&](auto v) { return top(v) + v[2]; });
    if (kind.is_signed)
      check("mad24.hi.sat.s32", {kind, kind, kind}, kind,
            [&](auto v) { return static_cast<Bits>(into_s32(number(top(v), kind) + number(v[2], kind))); });
  }
}

/// Element `index` of a word of elements of `bits` bits.
Int128 element(Bits word, int index, int bits, bool is_signed) {
  return number(word >> bits * index, Kind((is_signed ? 's' : 'u') + std::to_string(bits)));
}

TEST(PtxInteger, SumsProductsOfBytesAndHalves) {
  for (const char* a : {"u32", "s32"})
    for (const char* b : {"u32", "s32"}) {
      const bool a_signed = a[0] == 's', b_signed = b[0] == 's';
      const std::string types = std::string(".") + a + "." + b;
      const Kind sum = a_signed || b_signed ? "s32" : "u32";
      check("dp4a" + types, {a, b, sum}, sum, [&](auto v) {
        Int128 total = number(v[2], sum);
        for (int i = 0; i < 4; ++i) total += element(v[0], i, 8, a_signed) * element(v[1], i, 8, b_signed);
        return static_cast<Bits>(total);
      });
      for (const int first : {0, 2})
        check((first == 0 ? "dp2a.lo" : "dp2a.hi") + types, {a, b, sum}, sum, [&](auto v) {
          Int128 total = number(v[2], sum);
          for (int i = 0; i < 2; ++i) total += element(v[0], i, 16, a_signed) * element(v[1], first + i, 8, b_signed);
          return static_cast<Bits>(total);
        });
    }
}

TEST(PtxInteger, TakesDifferencesOfBytes) {
  for (const char* type : {"u32", "s32"}) {
    const std::string spelling = std::string("vabsdiff4.u32.") + type + "." + type;
    const auto difference = [&](std::span<const Bits> v, int i) {
      return static_cast<Bits>(magnitude(element(v[0], i, 8, type[0] == 's') - element(v[1], i, 8, type[0] == 's')));
    };
    check(spelling, {type, type, "u32"}, "u32", [&](auto v) {
      return difference(v, 0) | difference(v, 1) << 8 | difference(v, 2) << 16 | difference(v, 3) << 24;
    });
    check(spelling + ".add", {type, type, "u32"}, "u32",
          [&](auto v) { return v[2] + difference(v, 0) + difference(v, 1) + difference(v, 2) + difference(v, 3); });
  }
}

}  // namespace
}  // namespace tutti::emulator::trial
