// setp, set, selp and slct, and moves.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/emulator/ptx/arithmetic_exact.hpp"
#include "tests/emulator/ptx/decode_families.hpp"

namespace tutti::emulator::trial {
namespace {

enum class Order { less, equal, greater, unordered };

/// The orders for which a comparison holds, as PTX names it.
bool holds(const std::string& comparison, Order order) {
  const bool less = order == Order::less, equal = order == Order::equal, greater = order == Order::greater;
  if (comparison == "num") return order != Order::unordered;
  if (comparison == "nan") return order == Order::unordered;
  if (comparison.size() == 3 && comparison[2] == 'u')
    return order == Order::unordered || holds(comparison.substr(0, 2), order);
  if (comparison == "eq") return equal;
  if (comparison == "ne") return less || greater;
  if (comparison == "lt" || comparison == "lo") return less;
  if (comparison == "le" || comparison == "ls") return less || equal;
  if (comparison == "gt" || comparison == "hi") return greater;
  return greater || equal;
}

Order order_of(Bits a, Bits b, const Kind& kind, bool ftz) {
  if (!kind.is_float) {
    const Int128 x = number(a, kind), y = number(b, kind);
    return x < y ? Order::less : x > y ? Order::greater : Order::equal;
  }
  const Layout l = layout(kind.name);
  if (is_nan(a, l) || is_nan(b, l)) return Order::unordered;
  if (ftz) {
    a = flushed(a, l);
    b = flushed(b, l);
  }
  if (a == b || (is_zero(a, l) && is_zero(b, l))) return Order::equal;
  return is_less(a, b, l) ? Order::less : Order::greater;
}

bool combined(const std::string& operation, bool result, bool with) {
  if (operation == ".and") return result && with;
  if (operation == ".or") return result || with;
  if (operation == ".xor") return result != with;
  return result;
}

std::vector<std::string> comparisons_of(const std::string& type) {
  if (type[0] == 'b' && type != "bf16") return {"eq", "ne"};
  std::vector<std::string> all = {"eq", "ne", "lt", "le", "gt", "ge"};
  if (type[0] == 'u') all.insert(all.end(), {"lo", "ls", "hi", "hs"});
  if (Kind(type).is_float) all.insert(all.end(), {"equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"});
  return all;
}

const std::vector<std::string> kTypes = {"b16", "b32", "b64", "u16",  "u32", "u64", "s16",
                                         "s32", "s64", "f16", "bf16", "f32", "f64"};
const std::vector<std::string> kCombinations = {"", ".and", ".or", ".xor"};
bool has_ftz(const std::string& type) { return type == "f16" || type == "f32"; }

/// One comparison with all its modifiers, as one function.
struct Case {
  std::string comparison, combination, ftz, type;
  bool operator()(std::span<const Bits> v) const {
    const bool result = holds(comparison, order_of(v[0], v[1], type, !ftz.empty()));
    return combined(combination, result, combination.empty() ? false : v[2] != 0);
  }
  bool opposite(std::span<const Bits> v) const {
    const bool result = !holds(comparison, order_of(v[0], v[1], type, !ftz.empty()));
    return combined(combination, result, combination.empty() ? false : v[2] != 0);
  }
  std::vector<Kind> operands() const {
    std::vector<Kind> all = {type, type};
    if (!combination.empty()) all.emplace_back("pred");
    return all;
  }
  std::string modifiers() const { return comparison + combination + ftz; }
};

void for_cases(const std::function<void(const Case&)>& f) {
  for (const std::string& type : kTypes)
    for (const std::string& comparison : comparisons_of(type))
      for (const std::string& combination : kCombinations)
        for (const std::string ftz : {"", ".ftz"})
          if (ftz.empty() || has_ftz(type)) f({comparison, combination, ftz, type});
}
/// The halves of x2 operands; a predicate operand is whole.
std::pair<std::vector<Bits>, std::vector<Bits>> halves_of(std::span<const Bits> v) {
  std::vector<Bits> lows = {v[0] & 0xffff, v[1] & 0xffff}, highs = {v[0] >> 16, v[1] >> 16};
  if (v.size() == 3) {
    lows.push_back(v[2]);
    highs.push_back(v[2]);
  }
  return {lows, highs};
}

TEST(PtxCompare, SetsPredicatesAlsoForNanAndZerosOfBothSigns) {
  for_cases([](const Case& one) {
    const std::string spelling = fmt::format("setp.{}.{}", one.modifiers(), one.type);
    check(spelling, one.operands(), "pred", [&](auto v) { return one(v); });
    if (one.type != "f16" && one.type != "bf16") {
      check_two(spelling, one.operands(), "pred", "pred", [&](auto v) {
        return std::pair{Bits{one(v)}, Bits{one.opposite(v)}};
      });
    } else {
      std::vector<Kind> operands = one.operands();
      operands[0] = operands[1] = one.type + "x2";
      check_two(spelling + "x2", operands, "pred", "pred", [&](auto v) {
        const auto [lows, highs] = halves_of(v);
        return std::pair{Bits{one(lows)}, Bits{one(highs)}};
      });
    }
  });
}

/// What set makes of true.
Bits truth(const std::string& type) {
  const Kind kind = type;
  return type == "f16" ? 0x3c00 : type == "bf16" ? 0x3f80 : type == "f32" ? 0x3f800000 : low(~Bits{0}, kind.bits);
}

TEST(PtxCompare, SetsNumbersToOneOrAllOnes) {
  for_cases([](const Case& one) {
    if (!one.combination.empty()) return;
    const bool half = one.type == "f16" || one.type == "bf16";
    const std::vector<std::string> results = half ? std::vector<std::string>{"u16", "s16", "u32", "s32", one.type}
                                                  : std::vector<std::string>{"u32", "s32", "f32"};
    for (const std::string& result : results)
      check(fmt::format("set.{}.{}.{}", one.modifiers(), result, one.type), one.operands(), result,
            [&](auto v) { return one(v) ? truth(result) : 0; });
    if (!half) return;
    std::vector<Kind> operands = one.operands();
    operands[0] = operands[1] = one.type + "x2";
    for (const std::string& result : {one.type + "x2", std::string("u32"), std::string("s32")})
      check(fmt::format("set.{}.{}.{}x2", one.modifiers(), result, one.type), operands, result, [&](auto v) {
        const auto [lows, highs] = halves_of(v);
        const Bits yes = result.ends_with("x2") ? truth(one.type) : 0xffff;
        return (one(lows) ? yes : 0) | (one(highs) ? yes << 16 : 0);
      });
  });
}

TEST(PtxCompare, SelectsByAPredicateOrASign) {
  for (const std::string type : {"b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64"}) {
    check("selp." + type, {type, type, "pred"}, type, [](auto v) { return v[2] != 0 ? v[0] : v[1]; });
    check("slct." + type + ".s32", {type, type, "s32"}, type, [](auto v) { return v[2] >> 31 == 0 ? v[0] : v[1]; });
    const Layout f32 = layout("f32");
    for (const bool ftz : {false, true})
      check(std::string("slct.") + (ftz ? "ftz." : "") + type + ".f32", {type, type, "f32"}, type, [&](auto v) {
        const Bits sign = ftz ? flushed(v[2], f32) : v[2];
        const bool at_least_zero = !is_nan(sign, f32) && (is_zero(sign, f32) || !is_negative(sign, f32));
        return at_least_zero ? v[0] : v[1];
      });
  }
}

TEST(PtxMove, MovesEveryTypeBitForBit) {
  for (const std::string type : {"pred", "b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64"})
    check("mov." + type, {type}, type, [](auto v) { return v[0]; });
}

TEST(PtxMove, MovesBothSlotsOfAWideRegister) {
  const Computation mov = find_computation("mov.b128");
  ASSERT_NE(nullptr, mov.compute);
  tested().insert("mov.b128");
  std::vector<Bits> slots = {1, 2, 3, 4, 5};
  Instruction instruction;
  instruction.from[0] = 0;
  instruction.to[0] = 3;
  mov.compute(slots.data(), instruction);
  EXPECT_EQ((std::vector<Bits>{1, 2, 3, 1, 2}), slots);
  instruction.to[0] = 1;  // overlapping, as registers may be laid out
  mov.compute(slots.data(), instruction);
  EXPECT_EQ((std::vector<Bits>{1, 1, 2, 1, 2}), slots);
}

TEST(PtxMove, PacksAndUnpacksTheFirstPartLowest) {
  struct Shape {
    Type type;
    int parts, bits;
  };
  const Bits whole = 0x8123c567f9abedef;
  for (const auto& [type, parts, bits] : {Shape{Type::b16, 2, 8}, Shape{Type::b32, 2, 16}, Shape{Type::b32, 4, 8},
                                          Shape{Type::b64, 2, 32}, Shape{Type::b64, 4, 16}}) {
    const Computation pack = find_vector_move(type, parts, true), unpack = find_vector_move(type, parts, false);
    ASSERT_NE(nullptr, pack.compute);
    ASSERT_NE(nullptr, unpack.compute);
    EXPECT_EQ(parts, pack.from);
    EXPECT_EQ(1, pack.to);
    EXPECT_EQ(1, unpack.from);
    EXPECT_EQ(parts, unpack.to);
    std::vector<Bits> slots(20, ~Bits{0});
    slots[0] = whole;
    Instruction instruction;
    for (int i = 0; i < parts; ++i) instruction.to[i] = static_cast<Slot>(1 + i);
    unpack.compute(slots.data(), instruction);
    for (int i = 0; i < parts; ++i) {
      EXPECT_EQ(low(whole >> bits * i, bits), slots[static_cast<std::size_t>(1 + i)]) << "part " << i;
      slots[static_cast<std::size_t>(1 + i)] |= bits < 64 ? ~Bits{0} << bits : 0;  // what is above must not matter
      instruction.from[i] = static_cast<Slot>(1 + i);
    }
    instruction.to[0] = 10;
    pack.compute(slots.data(), instruction);
    EXPECT_EQ(low(whole, parts * bits), slots[10]);
  }
}

TEST(PtxMove, PacksAndUnpacks128Bits) {
  const Computation pack = find_vector_move(Type::b128, 2, true), unpack = find_vector_move(Type::b128, 2, false);
  ASSERT_NE(nullptr, pack.compute);
  ASSERT_NE(nullptr, unpack.compute);
  std::vector<Bits> slots = {11, 22, 0, 0, 0, 0};
  Instruction instruction;
  instruction.from[0] = 1;
  instruction.from[1] = 0;
  instruction.to[0] = 2;
  pack.compute(slots.data(), instruction);
  EXPECT_EQ(22u, slots[2]);
  EXPECT_EQ(11u, slots[3]);
  instruction.from[0] = 2;
  instruction.to[0] = 4;
  instruction.to[1] = 5;
  unpack.compute(slots.data(), instruction);
  EXPECT_EQ(22u, slots[4]);
  EXPECT_EQ(11u, slots[5]);
}

TEST(PtxMove, KnowsNoOtherVectors) {
  EXPECT_EQ(nullptr, find_vector_move(Type::b32, 3, true).compute);
  EXPECT_EQ(nullptr, find_vector_move(Type::b64, 8, false).compute);
  EXPECT_EQ(nullptr, find_vector_move(Type::f32, 2, false).compute);
  EXPECT_EQ(nullptr, find_vector_move(Type::pred, 2, false).compute);
  EXPECT_EQ(nullptr, find_vector_move(Type::b128, 4, false).compute);
}

TEST(PtxTable, NamesOnlyTypesThatTheParserKnows) {
  for (const std::string_view spelling : all_spellings())
    for (const bool pair : {false, true}) {
      if (find_computation(spelling, pair).compute == nullptr) continue;
      EXPECT_NO_THROW(decode_computation(spelling, pair)) << spelling << (pair ? " with p|q" : "");
    }
}

TEST(PtxTable, KnowsNoSpellingThatIsNotWrittenDown) {
  for (const char* spelling : {"",
                               "add",
                               "add.",
                               "add.s8",
                               "add.rn.s32",
                               "add.sat.u32",
                               "ADD.S32",
                               "add.s32 ",
                               ".s32",
                               "fma.f32",
                               "fma.rn.sat.f64",
                               "setp.lo.s32",
                               "setp.lt.b32",
                               "setp.equ.s32",
                               "cvt.f16.f32",
                               "cvt.rni.f32.s32",
                               "cvt.sat.s32.s16",
                               "cvt.rn.sat.bf16.f32",
                               "mov.b8",
                               "mul.s32",
                               "mul.wide.u64",
                               "shl.s32",
                               "min.NaN.f64",
                               "ex2.f32",
                               "prmt.b32.x4e",
                               "set.eq.and.u32.u32"})
    EXPECT_EQ(nullptr, find_computation(spelling).compute) << spelling;
  for (const char* spelling : {"add.s32", "setp.eq.f16", "selp.b32", "set.eq.u32.u32"})
    EXPECT_EQ(nullptr, find_computation(spelling, true).compute) << spelling << " with p|q";
  EXPECT_EQ(nullptr, find_computation("setp.eq.f16x2").compute);
  EXPECT_EQ(nullptr, find_computation("lop3.or.b32").compute);
}

}  // namespace
}  // namespace tutti::emulator::trial
