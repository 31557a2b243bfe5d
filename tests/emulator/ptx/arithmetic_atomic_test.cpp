// What atomics compute, and values in slots.
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/emulator/ptx/arithmetic_exact.hpp"

namespace tutti::emulator::trial {
namespace {

struct Named {
  Type type;
  const char* name;
};
const std::vector<Named> kIntegers = {{Type::u16, "u16"}, {Type::u32, "u32"}, {Type::u64, "u64"},
                                      {Type::s16, "s16"}, {Type::s32, "s32"}, {Type::s64, "s64"}};
const std::vector<Named> kFloats = {{Type::f16, "f16"}, {Type::bf16, "bf16"}, {Type::f32, "f32"}, {Type::f64, "f64"}};
const std::vector<Named> kPairs = {{Type::f16x2, "f16"}, {Type::bf16x2, "bf16"}};

using Two = std::function<Bits(Bits, Bits)>;
void check_atomic(AtomicOperation operation, Type type, const Kind& kind, const Two& expected) {
  int reported = 0;
  for (const Bits old : samples(kind, 20))
    for (const Bits operand : samples(kind, 20)) {
      const Bits wanted = in_slot(expected(old, operand), kind);
      const Bits got = apply_atomic(operation, type, in_slot(old, kind), in_slot(operand, kind), 0);
      if (got == wanted || reported++ > 3) continue;
      ADD_FAILURE() << "operation " << static_cast<int>(operation) << " of " << kind.name << std::hex << " " << old
                    << " with " << operand << " leaves " << got << ", expected " << wanted;
    }
}

TEST(PtxAtomic, AddsAndChoosesIntegers) {
  for (const auto& [type, name] : kIntegers) {
    const Kind kind = name;
    const auto less = [&](Bits a, Bits b) { return number(a, kind) < number(b, kind); };
    check_atomic(AtomicOperation::add, type, kind, [](Bits a, Bits b) { return a + b; });
    check_atomic(AtomicOperation::min, type, kind, [&](Bits a, Bits b) { return less(a, b) ? a : b; });
    check_atomic(AtomicOperation::max, type, kind, [&](Bits a, Bits b) { return less(a, b) ? b : a; });
  }
}

TEST(PtxAtomic, CombinesBitsExchangesAndCompares) {
  for (const auto& [type, name] : {Named{Type::b32, "b32"}, {Type::b64, "b64"}, {Type::b16, "b16"}}) {
    check_atomic(AtomicOperation::bit_and, type, name, [](Bits a, Bits b) { return a & b; });
    check_atomic(AtomicOperation::bit_or, type, name, [](Bits a, Bits b) { return a | b; });
    check_atomic(AtomicOperation::bit_xor, type, name, [](Bits a, Bits b) { return a ^ b; });
    check_atomic(AtomicOperation::exchange, type, name, [](Bits, Bits b) { return b; });
    for (const Bits old : samples(Kind(name)))
      for (const Bits compared : samples(Kind(name)))
        EXPECT_EQ(old == compared ? Bits{42} : old,
                  apply_atomic(AtomicOperation::compare_and_swap, type, old, compared, 42));
  }
}

TEST(PtxAtomic, CountsUpAndDownWithinALimit) {
  const auto up = [](Bits old, Bits limit) { return old >= limit ? 0 : old + 1; };
  const auto down = [](Bits old, Bits limit) { return old == 0 || old > limit ? limit : old - 1; };
  check_atomic(AtomicOperation::increment, Type::u32, "u32", up);
  check_atomic(AtomicOperation::decrement, Type::u32, "u32", down);
}

/// min or max of floats as the instructions have it: a number beats NaN.
Bits chosen(Bits a, Bits b, bool smaller, const Layout& l) {
  if (is_nan(a, l) && is_nan(b, l)) return l.exponent_bits == 11 ? a | 0x0008000000000000 : l.canonical_nan;
  if (is_nan(a, l)) return b;
  if (is_nan(b, l)) return a;
  return is_less(a, b, l) == smaller ? a : b;
}

TEST(PtxAtomic, AddsAndChoosesFloatsKeepingSubnormals) {
  for (const auto& [type, name] : kFloats) {
    const Layout l = layout(name);
    check_atomic(AtomicOperation::add, type, name, [&](Bits a, Bits b) { return sum(a, b, l, 'n'); });
    check_atomic(AtomicOperation::min, type, name, [&](Bits a, Bits b) { return chosen(a, b, true, l); });
    check_atomic(AtomicOperation::max, type, name, [&](Bits a, Bits b) { return chosen(a, b, false, l); });
  }
}

TEST(PtxAtomic, WorksOnBothHalves) {
  for (const auto& [type, name] : kPairs) {
    const Layout l = layout(name);
    const auto halves = [](const Two& f) {
      return [f](Bits a, Bits b) { return f(a & 0xffff, b & 0xffff) | f(a >> 16, b >> 16) << 16; };
    };
    const Kind pair = std::string(name) + "x2";
    check_atomic(AtomicOperation::add, type, pair, halves([&](Bits a, Bits b) { return sum(a, b, l, 'n'); }));
    check_atomic(AtomicOperation::min, type, pair, halves([&](Bits a, Bits b) { return chosen(a, b, true, l); }));
    check_atomic(AtomicOperation::max, type, pair, halves([&](Bits a, Bits b) { return chosen(a, b, false, l); }));
  }
}

TEST(PtxAtomic, RefusesWhatHasNoMeaning) {
  EXPECT_THROW(apply_atomic(AtomicOperation::add, Type::b32, 0, 0, 0), std::logic_error);
  EXPECT_THROW(apply_atomic(AtomicOperation::min, Type::pred, 0, 0, 0), std::logic_error);
}

TEST(PtxSlots, ExtendsValuesBySignOrZeros) {
  const Bits value = 0x8182838485868788;
  const std::pair<Type, Bits> expected[] = {{Type::none, 0},
                                            {Type::pred, 0},
                                            {Type::b8, 0x88},
                                            {Type::u8, 0x88},
                                            {Type::b16, 0x8788},
                                            {Type::u16, 0x8788},
                                            {Type::f16, 0x8788},
                                            {Type::bf16, 0x8788},
                                            {Type::b32, 0x85868788},
                                            {Type::u32, 0x85868788},
                                            {Type::f32, 0x85868788},
                                            {Type::f16x2, 0x85868788},
                                            {Type::bf16x2, 0x85868788},
                                            {Type::b64, value},
                                            {Type::u64, value},
                                            {Type::f64, value},
                                            {Type::s64, value},
                                            {Type::s8, 0xffffffffffffff88},
                                            {Type::s16, 0xffffffffffff8788},
                                            {Type::s32, 0xffffffff85868788}};
  for (const auto& [type, wanted] : expected) EXPECT_EQ(wanted, extended(value, type)) << static_cast<int>(type);
  EXPECT_EQ(1u, extended(0xff, Type::pred));
  EXPECT_EQ(0x7fu, extended(0xff7f, Type::s8));
}

}  // namespace
}  // namespace tutti::emulator::trial
