// f32, f64, f16 and bf16 against exact arithmetic, in every rounding mode and with every modifier.
#include <gtest/gtest.h>

#include "tests/emulator/ptx/arithmetic_exact.hpp"

namespace tutti::emulator::trial {
namespace {

using Operation = std::function<Bits(std::span<const Bits>, const Layout&, Mode)>;

Bits add(std::span<const Bits> v, const Layout& l, Mode mode) { return sum(v[0], v[1], l, mode); }
Bits sub(std::span<const Bits> v, const Layout& l, Mode mode) { return difference(v[0], v[1], l, mode); }
Bits mul(std::span<const Bits> v, const Layout& l, Mode mode) { return product(v[0], v[1], l, mode); }
Bits fma(std::span<const Bits> v, const Layout& l, Mode mode) { return fused(v[0], v[1], v[2], l, mode); }
Bits div(std::span<const Bits> v, const Layout& l, Mode mode) { return quotient(v[0], v[1], l, mode); }
Bits rcp(std::span<const Bits> v, const Layout& l, Mode mode) {
  const Bits one = static_cast<Bits>(1 - l.smallest_exponent()) << l.significand_bits;
  return quotient(one, v[0], l, mode);
}
Bits root_of(std::span<const Bits> v, const Layout& l, Mode mode) { return root(v[0], l, mode); }

/// The operation with what modifiers such as ".ftz.sat" do to operands and result.
Expected modified(const Operation& operation, const Layout& layout, Mode mode, const std::string& modifiers) {
  const auto has = [modifiers](const char* one) { return modifiers.find(one) != std::string::npos; };
  const bool ftz = has(".ftz"), sat = has(".sat"), relu = has(".relu");
  return [=](std::span<const Bits> values) {
    std::vector<Bits> operands(values.begin(), values.end());
    if (ftz)
      for (Bits& operand : operands) operand = flushed(operand, layout);
    Bits result = operation(operands, layout, mode);
    if (ftz) result = flushed(result, layout);
    if (sat) result = saturated(result, layout);
    return relu ? rectified(result, layout) : result;
  };
}

/// Checks NAME{.rn .rz .rm .rp}MODIFIERS.TYPE, and NAME MODIFIERS.TYPE if the rounding may be left out.
void check_roundings(const std::string& name, std::size_t operands, const std::string& type, const Operation& operation,
                     const std::string& modifiers, bool may_be_left_out, const std::string& modes = "nzmp") {
  const bool halves = type.ends_with("x2");
  const std::string part = halves ? type.substr(0, type.size() - 2) : type;
  const std::vector<Kind> kinds(operands, Kind(part));
  for (const Mode mode : modes) {
    const Expected expected = modified(operation, layout(part), mode, modifiers);
    std::vector<std::string> spellings = {name + ".r" + mode + modifiers + "." + type};
    if (mode == 'n' && may_be_left_out) spellings.push_back(name + modifiers + "." + type);
    for (const std::string& spelling : spellings) {
      if (halves)
        check_halves(spelling, kinds, part, expected);
      else
        check(spelling, kinds, part, expected);
    }
  }
}

const std::vector<std::string> kF32Modifiers = {"", ".ftz", ".sat", ".ftz.sat"};

TEST(PtxFloat, AddsSubtractsAndMultipliesInEveryRoundingMode) {
  for (const auto& [name, operation] : {std::pair<std::string, Operation>{"add", add}, {"sub", sub}, {"mul", mul}}) {
    for (const std::string& modifiers : kF32Modifiers) check_roundings(name, 2, "f32", operation, modifiers, true);
    check_roundings(name, 2, "f64", operation, "", true);
    for (const char* modifiers : {"", ".ftz"}) check_roundings(name, 2, "f32x2", operation, modifiers, true);
  }
}

TEST(PtxFloat, FusesMultiplicationAndAddition) {
  for (const char* name : {"fma", "mad"}) {
    for (const std::string& modifiers : kF32Modifiers) check_roundings(name, 3, "f32", fma, modifiers, false);
    check_roundings(name, 3, "f64", fma, "", false);
  }
  for (const char* modifiers : {"", ".ftz"}) check_roundings("fma", 3, "f32x2", fma, modifiers, false);
}

TEST(PtxFloat, DividesAndTakesRootsInEveryRoundingMode) {
  for (const char* modifiers : {"", ".ftz"}) {
    check_roundings("div", 2, "f32", div, modifiers, false);
    check_roundings("rcp", 1, "f32", rcp, modifiers, false);
    check_roundings("sqrt", 1, "f32", root_of, modifiers, false);
  }
  check_roundings("div", 2, "f64", div, "", false);
  check_roundings("rcp", 1, "f64", rcp, "", false);
  check_roundings("sqrt", 1, "f64", root_of, "", false);
}

TEST(PtxFloat, ComputesInHalfPrecisionRoundingOnce) {
  for (const char* type : {"f16", "f16x2"})
    for (const char* ftz : {"", ".ftz"}) {
      for (const char* sat : {"", ".sat"}) {
        const std::string modifiers = std::string(ftz) + sat;
        check_roundings("add", 2, type, add, modifiers, true, "n");
        check_roundings("sub", 2, type, sub, modifiers, true, "n");
        check_roundings("mul", 2, type, mul, modifiers, true, "n");
        check_roundings("fma", 3, type, fma, modifiers, false, "n");
      }
      check_roundings("fma", 3, type, fma, std::string(ftz) + ".relu", false, "n");
    }
  for (const char* type : {"bf16", "bf16x2"}) {
    check_roundings("add", 2, type, add, "", true, "n");
    check_roundings("sub", 2, type, sub, "", true, "n");
    check_roundings("mul", 2, type, mul, "", true, "n");
    for (const char* modifiers : {"", ".relu"}) check_roundings("fma", 3, type, fma, modifiers, false, "n");
  }
}

/// Checks NAME.TYPE, and for two-byte types NAME.TYPEx2.
void check_with_halves(const std::string& name, std::size_t operands, const std::string& type,
                       const Expected& expected) {
  const std::vector<Kind> kinds(operands, Kind(type));
  check(name + "." + type, kinds, type, expected);
  if (type == "f16" || type == "bf16") check_halves(name + "." + type + "x2", kinds, type, expected);
}

TEST(PtxFloat, ChangesSignsOfNanToo) {
  for (const char* type : {"f16", "bf16", "f32", "f64"}) {
    const Layout l = layout(type);
    check_with_halves("neg", 1, type, [&](auto v) { return v[0] ^ l.sign(); });
    check_with_halves("abs", 1, type, [&](auto v) { return v[0] & ~l.sign(); });
    if (l.exponent_bits == 5 || l.significand_bits == 23) {
      check_with_halves("neg.ftz", 1, type, [&](auto v) { return flushed(v[0] ^ l.sign(), l); });
      check_with_halves("abs.ftz", 1, type, [&](auto v) { return flushed(v[0] & ~l.sign(), l); });
    }
  }
  for (const char* type : {"f32", "f64"}) {
    const Bits sign = layout(type).sign();
    check(std::string("copysign.") + type, {type, type}, type, [&](auto v) { return (v[1] & ~sign) | (v[0] & sign); });
  }
}

/// min or max with the modifiers .ftz .NaN .xorsign.abs.
Expected extremum(const std::string& name, const std::string& modifiers, const Layout& l) {
  const auto has = [modifiers](const char* one) { return modifiers.find(one) != std::string::npos; };
  const bool smaller = name == "min", ftz = has(".ftz"), nan_wins = has(".NaN"), magnitudes = has(".xorsign.abs");
  return [=](std::span<const Bits> v) -> Bits {
    Bits a = ftz ? flushed(v[0], l) : v[0], b = ftz ? flushed(v[1], l) : v[1];
    const Bits signs = (a ^ b) & l.sign();
    const int nans = is_nan(a, l) + is_nan(b, l);
    if (nans == 2 || (nans == 1 && nan_wins)) return l.exponent_bits == 11 ? a | 0x0008000000000000 : l.canonical_nan;
    if (magnitudes) {
      a &= ~l.sign();
      b &= ~l.sign();
    }
    Bits chosen = is_less(a, b, l) == smaller ? a : b;
    if (nans == 1) chosen = is_nan(a, l) ? b : a;
    return magnitudes ? chosen | signs : chosen;
  };
}

TEST(PtxFloat, ChoosesTheSmallerOrLargerNumberBesideNanAndOrdersZeros) {
  for (const char* name : {"min", "max"}) {
    check(std::string(name) + ".f64", {"f64", "f64"}, "f64", extremum(name, "", layout("f64")));
    for (const char* type : {"f32", "f16", "bf16"})
      for (const char* ftz : {"", ".ftz"})
        for (const char* nan : {"", ".NaN"})
          for (const char* magnitudes : {"", ".xorsign.abs"}) {
            if (*ftz != '\0' && type[0] == 'b') continue;
            const std::string modifiers = std::string(ftz) + nan + magnitudes;
            check_with_halves(name + modifiers, 2, type, extremum(name, modifiers, layout(type)));
          }
  }
}

TEST(PtxFloat, TellsTheClassOfANumber) {
  for (const char* type : {"f32", "f64"}) {
    const Layout l = layout(type);
    const auto check_class = [&](const std::string& name, const std::function<bool(Bits)>& expected) {
      check("testp." + name + "." + type, {type}, "pred", [&](auto v) { return expected(v[0]) ? 1 : 0; });
    };
    const auto special = [&](Bits v) { return is_nan(v, l) || is_infinite(v, l); };
    check_class("finite", [&](Bits v) { return !special(v); });
    check_class("infinite", [&](Bits v) { return is_infinite(v, l); });
    check_class("number", [&](Bits v) { return !is_nan(v, l); });
    check_class("notanumber", [&](Bits v) { return is_nan(v, l); });
    check_class("normal", [&](Bits v) { return !special(v) && !is_zero(v, l) && !is_subnormal(v, l); });
    check_class("subnormal", [&](Bits v) { return is_subnormal(v, l); });
  }
}

}  // namespace
}  // namespace tutti::emulator::trial
