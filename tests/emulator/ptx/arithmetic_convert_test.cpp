// cvt against exact arithmetic: all pairs of types, every rounding, saturation, NaN, and every value of small formats.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/emulator/ptx/arithmetic_exact.hpp"

namespace tutti::emulator::trial {
namespace {

const std::vector<std::string> kIntegers = {"u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"};
const std::vector<std::string> kFloats = {"f16", "bf16", "f32", "f64"};
const std::string kModes = "nzmp";

Int128 least(const Kind& kind) { return kind.is_signed ? -(Int128{1} << (kind.bits - 1)) : 0; }
Int128 most(const Kind& kind) { return (Int128{1} << (kind.bits - (kind.is_signed ? 1 : 0))) - 1; }

TEST(PtxConvert, CutsOrSaturatesIntegers) {
  for (const std::string& to : kIntegers)
    for (const std::string& from : kIntegers) {
      const Kind target = to, source = from;
      check(fmt::format("cvt.{}.{}", to, from), {from}, to,
            [&](auto v) { return static_cast<Bits>(number(v[0], source)); });
      const std::string saturating = fmt::format("cvt.sat.{}.{}", to, from);
      if (least(source) >= least(target) && most(source) <= most(target)) {
        EXPECT_EQ(nullptr, find_computation(saturating).compute) << saturating << " has nothing to saturate";
        continue;
      }
      check(saturating, {from}, to,
            [&](auto v) { return static_cast<Bits>(std::clamp(number(v[0], source), least(target), most(target))); });
    }
}

/// f(".ftz" or ".sat" or ... or "") for the modifiers that a conversion between these types may have.
void for_modifiers(const std::string& to, const std::string& from, const std::function<void(const std::string&)>& f) {
  const bool f32 = to == "f32" || from == "f32", bf16 = to == "bf16" || from == "bf16";
  for (const char* ftz : {"", ".ftz"})
    for (const char* sat : {"", ".sat"})
      if ((*ftz == '\0' || f32) && (*sat == '\0' || !bf16)) f(std::string(ftz) + sat);
}
bool has(const std::string& modifiers, const char* one) { return modifiers.find(one) != std::string::npos; }

/// What a float becomes as an integer.
Bits to_integer(Bits value, const std::string& from, const Kind& to, Mode mode) {
  const Layout l = layout(from);
  if (is_nan(value, l)) return from == "f64" || to.bits == 64 ? Bits{1} << (to.bits - 1) : 0;
  const bool negative = is_negative(value, l);
  if (is_infinite(value, l)) return static_cast<Bits>(negative ? least(to) : most(to));
  const Integer rounded = rounded_to_integer(exact(value, l), mode);
  if (rounded < Integer(least(to))) return static_cast<Bits>(least(to));
  if (rounded > Integer(most(to))) return static_cast<Bits>(most(to));
  return static_cast<Bits>(static_cast<Int128>(rounded));
}

Bits flushed_if_f32(Bits value, const std::string& type, const std::string& modifiers) {
  return type == "f32" && has(modifiers, ".ftz") ? flushed(value, layout(type)) : value;
}

TEST(PtxConvert, RoundsFloatsToIntegersAndSaturates) {
  for (const std::string& from : kFloats)
    for (const std::string& to : kIntegers)
      for (const Mode mode : kModes)
        for_modifiers(to, from, [&](const std::string& modifiers) {
          check(fmt::format("cvt.r{}i{}.{}.{}", mode, modifiers, to, from), {from}, to,
                [&](auto v) { return to_integer(flushed_if_f32(v[0], from, modifiers), from, to, mode); });
        });
}

TEST(PtxConvert, RoundsIntegersToFloats) {
  for (const std::string& to : kFloats)
    for (const std::string& from : kIntegers)
      for (const Mode mode : kModes)
        for_modifiers(to, from, [&](const std::string& modifiers) {
          const Layout l = layout(to);
          check(fmt::format("cvt.r{}{}.{}.{}", mode, modifiers, to, from), {from}, to, [&](auto v) {
            const Bits result = rounded(exact(number(v[0], from)), l, mode);
            return has(modifiers, ".sat") ? saturated(result, l) : result;
          });
        });
}

Expected to_float(const std::string& from, const std::string& to, Mode mode, const std::string& modifiers) {
  return [=](std::span<const Bits> v) {
    const Bits operand = flushed_if_f32(v[0], from, modifiers);
    const Bits result = flushed_if_f32(converted(operand, layout(from), layout(to), mode), to, modifiers);
    return has(modifiers, ".sat") ? saturated(result, layout(to)) : result;
  };
}

const std::vector<std::pair<std::string, std::string>> kNarrowing = {
    {"f32", "f16"}, {"f32", "bf16"}, {"f64", "f16"}, {"f64", "bf16"}, {"f64", "f32"}, {"f16", "bf16"}, {"bf16", "f16"}};
const std::vector<std::pair<std::string, std::string>> kWidening = {{"f16", "f32"},   {"bf16", "f32"}, {"f16", "f64"},
                                                                    {"bf16", "f64"},  {"f32", "f64"},  {"f16", "f16"},
                                                                    {"bf16", "bf16"}, {"f32", "f32"},  {"f64", "f64"}};

TEST(PtxConvert, RoundsFloatsToNarrowerOnes) {
  for (const auto& [from, to] : kNarrowing)
    for (const Mode mode : kModes)
      for_modifiers(to, from, [&, &from = from, &to = to](const std::string& modifiers) {
        check(fmt::format("cvt.r{}{}.{}.{}", mode, modifiers, to, from), {from}, to,
              to_float(from, to, mode, modifiers));
      });
}

TEST(PtxConvert, WidensFloatsExactly) {
  for (const auto& [from, to] : kWidening)
    for_modifiers(to, from, [&, &from = from, &to = to](const std::string& modifiers) {
      check(fmt::format("cvt{}.{}.{}", modifiers, to, from), {from}, to, to_float(from, to, 'n', modifiers));
    });
}

TEST(PtxConvert, RoundsFloatsToWholeNumbers) {
  for (const std::string& type : kFloats) {
    const Layout l = layout(type);
    for (const Mode mode : kModes)
      for_modifiers(type, type, [&](const std::string& modifiers) {
        check(fmt::format("cvt.r{}i{}.{}.{}", mode, modifiers, type, type), {type}, type, [&](auto v) {
          Bits result = flushed_if_f32(v[0], type, modifiers);
          if (is_nan(result, l)) {
            result = converted(result, l, l, mode);
          } else if (!is_infinite(result, l)) {
            const Integer whole = rounded_to_integer(exact(result, l), mode);
            result = rounded({is_negative(result, l), abs(whole), 0, false}, l, 'n');
          }
          return has(modifiers, ".sat") ? saturated(result, l) : result;
        });
      });
  }
}

std::vector<std::vector<Bits>> all_of(int bits) {
  std::vector<std::vector<Bits>> cases;
  for (Bits value = 0; value < Bits{1} << bits; ++value) cases.push_back({value});
  return cases;
}

TEST(PtxConvert, ConvertsEveryHalf) {
  for (const std::string from : {"f16", "bf16"}) {
    const std::vector<std::vector<Bits>> cases = all_of(16);
    for (const std::string to : {"f32", "f64"})
      check_on(fmt::format("cvt.{}.{}", to, from), {from}, to, cases, to_float(from, to, 'n', ""));
    for (const Mode mode : kModes)
      check_on(fmt::format("cvt.r{}i.s16.{}", mode, from), {from}, "s16", cases,
               [&](auto v) { return to_integer(v[0], from, "s16", mode); });
    const std::string other = from == "f16" ? "bf16" : "f16";
    check_on(fmt::format("cvt.rn.{}.{}", other, from), {from}, other, cases, to_float(from, other, 'n', ""));
  }
}

/// As f32: every value of a format, the middle between it and the next one, and what is just beside both.
std::vector<Bits> around(const std::string& type) {
  const Layout l = layout(type), f32 = layout("f32");
  std::vector<Bits> all;
  for (Bits value = 0; value <= l.largest(); ++value) {
    const Exact here = exact(value, l);
    // The middle is at the same distance above the largest value too, where infinity begins.
    const Exact middle = {false, 2 * here.significand + 1, here.exponent - 1, false};
    for (const Exact& one : {here, middle}) {
      const Bits bits = rounded(one, f32, 'n');
      for (const Bits near : {bits - 1, bits, bits + 1}) {
        if (bits == 0 && near == bits - 1) continue;
        all.push_back(near);
        all.push_back(near | f32.sign());
      }
    }
  }
  return all;
}
std::vector<std::vector<Bits>> each_alone(const std::vector<Bits>& values) {
  std::vector<std::vector<Bits>> cases;
  cases.reserve(values.size());
  for (const Bits value : values) cases.push_back({value});
  return cases;
}
std::vector<std::vector<Bits>> with_neighbours(const std::vector<Bits>& values) {
  std::vector<std::vector<Bits>> cases;
  for (std::size_t i = 0; i < values.size(); ++i) cases.push_back({values[i], values[(i * 7 + 5) % values.size()]});
  return cases;
}

TEST(PtxConvert, RoundsRightAtEveryHalfAndBetween) {
  for (const std::string to : {"f16", "bf16"}) {
    const std::vector<std::vector<Bits>> cases = each_alone(around(to));
    for (const Mode mode : kModes)
      check_on(fmt::format("cvt.r{}.{}.f32", mode, to), {"f32"}, to, cases, to_float("f32", to, mode, ""));
  }
}

/// A value of f32 in a narrow format, with .relu and .satfinite.
Bits narrowed(Bits value, const std::string& to, Mode mode, const std::string& modifiers, const std::string& from) {
  const bool finite = has(modifiers, ".satfinite");
  const Bits result = converted(value, layout(from), layout(to), finite ? static_cast<Mode>(std::toupper(mode)) : mode);
  return has(modifiers, ".relu") ? rectified(result, layout(to)) : result;
}

TEST(PtxConvert, PacksTwoFloatsTheFirstOneHigh) {
  for (const std::string to : {"f16", "bf16"}) {
    for (const Mode mode : {'n', 'z'})
      for (const std::string modifiers : {"", ".relu", ".satfinite", ".relu.satfinite", ".satfinite.relu"}) {
        check(fmt::format("cvt.r{}{}.{}x2.f32", mode, modifiers, to), {"f32", "f32"}, to + "x2", [&](auto v) {
          return narrowed(v[0], to, mode, modifiers, "f32") << 16 | narrowed(v[1], to, mode, modifiers, "f32");
        });
        if (!modifiers.empty())
          check(fmt::format("cvt.r{}{}.{}.f32", mode, modifiers, to), {"f32"}, to,
                [&](auto v) { return narrowed(v[0], to, mode, modifiers, "f32"); });
      }
  }
}

TEST(PtxConvert, RoundsToEightBitFloatsAtEveryValueAndBetween) {
  for (const std::string to : {"e4m3", "e5m2"}) {
    std::vector<Bits> values = around(to);
    for (const Bits value : samples("f32", 2000)) values.push_back(value);
    for (const std::string relu : {"", ".relu"}) {
      const std::string modifiers = ".satfinite" + relu;
      check_on(fmt::format("cvt.rn{}.{}x2.f32", modifiers, to), {"f32", "f32"}, "b16", with_neighbours(values),
               [&](auto v) {
                 return narrowed(v[0], to, 'n', modifiers, "f32") << 8 | narrowed(v[1], to, 'n', modifiers, "f32");
               });
      std::vector<std::vector<Bits>> halves;
      for (Bits value = 0; value < 0x10000; ++value) halves.push_back({value | ((value * 40503) & 0xffff) << 16});
      check_on(fmt::format("cvt.rn{}.{}x2.f16x2", modifiers, to), {"f16x2"}, "b16", halves, [&](auto v) {
        return narrowed(v[0] >> 16, to, 'n', modifiers, "f16") << 8 |
               narrowed(v[0] & 0xffff, to, 'n', modifiers, "f16");
      });
      check_on(fmt::format("cvt.rn{}.f16x2.{}x2", relu, to), {"b16"}, "f16x2", all_of(16), [&](auto v) {
        return narrowed(v[0] >> 8, "f16", 'n', relu, to) << 16 | narrowed(v[0] & 0xff, "f16", 'n', relu, to);
      });
    }
  }
}

TEST(PtxConvert, RoundsToTf32) {
  for (const Mode mode : {'n', 'z', 'a'})
    for (const std::string modifiers : {"", ".satfinite", ".relu", ".satfinite.relu"}) {
      if (mode == 'a' && has(modifiers, ".relu")) continue;
      std::vector<Bits> values = samples("f32", 5000);
      for (const Bits low : {0x0fff, 0x1000, 0x1001, 0x2fff, 0x3000, 0x3001})
        for (Bits exponent = 0; exponent < 512; ++exponent) values.push_back(exponent << 23 | 0x2000 | low);
      const std::string spelling =
          fmt::format("cvt.r{}{}.tf32.f32", mode == 'a' ? "na" : std::string(1, mode), modifiers);
      check_on(spelling, {"f32"}, "b32", each_alone(values),
               [&](auto v) { return narrowed(v[0], "tf32", mode, modifiers, "f32") << 13; });
    }
}

TEST(PtxConvert, PacksSaturatedIntegers) {
  for (const std::string type : {"u16", "s16", "u8", "s8"}) {
    const Kind kind = type, word = "s32";
    const auto part = [&](Bits value) {
      return low(static_cast<Bits>(std::clamp(number(value, word), least(kind), most(kind))), kind.bits);
    };
    if (kind.bits == 16)
      check(fmt::format("cvt.pack.sat.{}.s32", type), {"s32", "s32"}, "b32",
            [&](auto v) { return part(v[0]) << 16 | part(v[1]); });
    else
      check(fmt::format("cvt.pack.sat.{}.s32.b32", type), {"s32", "s32", "b32"}, "b32",
            [&](auto v) { return v[2] << 16 | part(v[0]) << 8 | part(v[1]); });
  }
}

}  // namespace
}  // namespace tutti::emulator::trial
