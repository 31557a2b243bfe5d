// Chains of instructions with the carry flag against arithmetic on long integers.
#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>

#include "tests/emulator/ptx/arithmetic_trial.hpp"

namespace tutti::emulator::trial {
namespace {

using Integer = boost::multiprecision::cpp_int;
constexpr std::size_t kWords = 3;
constexpr Slot kA = 50, kB = 60, kC = 70, kResult = 80;

struct Words {
  std::vector<Bits> words;
  int bits;
  Integer value() const {
    Integer all = 0;
    for (std::size_t i = words.size(); i-- > 0;) all = (all << bits) | words[i];
    return all;
  }
};
Words words_of(Integer value, std::size_t count, int bits) {
  Words result{{}, bits};
  const Integer size = Integer(1) << bits;
  for (std::size_t i = 0; i < count; ++i, value >>= bits) result.words.push_back(static_cast<Bits>(value % size));
  return result;
}

class Machine {
 public:
  void step(const std::string& spelling, Slot to, std::initializer_list<Slot> from) {
    const Computation found = find_computation(spelling);
    ASSERT_NE(nullptr, found.compute) << spelling << " is not in the table";
    ASSERT_EQ(static_cast<int>(from.size()), found.from) << spelling;
    ASSERT_EQ(1, found.to) << spelling;
    tested().insert(spelling);
    Instruction instruction;
    instruction.to[0] = to;
    std::copy(from.begin(), from.end(), instruction.from);
    found.compute(slots_.data(), instruction);
  }
  Bits& operator[](std::size_t slot) { return slots_[slot]; }

 private:
  std::vector<Bits> slots_ = std::vector<Bits>(100, 0x5555555555555555);
};

/// Random words, often all ones or zero, so that carries run far.
Words random_words(std::mt19937_64& random, int bits) {
  Words result{{}, bits};
  for (std::size_t i = 0; i < kWords; ++i) {
    const Bits choice = random() % 4;
    result.words.push_back(low(choice == 0 ? 0 : choice == 1 ? ~Bits{0} : random(), bits));
  }
  return result;
}

TEST(PtxCarry, AddsAndSubtractsNumbersOfManyWords) {
  for (const char* type : {"u32", "s32", "u64", "s64"}) {
    const int bits = Kind(type).bits;
    const std::string suffix = std::string(".") + type;
    std::mt19937_64 random(5);
    for (int round = 0; round < 2000; ++round) {
      const Words a = random_words(random, bits), b = random_words(random, bits);
      for (const bool adds : {true, false}) {
        Machine machine;
        for (std::size_t i = 0; i < kWords; ++i) {
          machine[kA + i] = a.words[i];
          machine[kB + i] = b.words[i];
        }
        const std::string name = adds ? "add" : "sub";
        machine.step(name + ".cc" + suffix, kResult, {kA, kB});
        machine.step(name + "c.cc" + suffix, kResult + 1, {kA + 1, kB + 1});
        machine.step(name + "c" + suffix, kResult + 2, {kA + 2, kB + 2});
        const Integer size = Integer(1) << (bits * static_cast<int>(kWords));
        const Integer exact = adds ? Integer(a.value() + b.value()) : Integer(size + a.value() - b.value());
        const Words expected = words_of(exact, kWords, bits);
        for (std::size_t i = 0; i < kWords; ++i)
          ASSERT_EQ(expected.words[i], machine[kResult + i]) << name << suffix << ", word " << i << ", round " << round;
      }
    }
  }
}

TEST(PtxCarry, KeepsTheFlagWhereNotAskedToWriteIt) {
  for (const std::string name :
       {"addc.u32", "addc.s32", "addc.u64", "addc.s64", "subc.u32", "subc.s32", "subc.u64", "subc.s64"})
    for (const Bits flag : {0, 1}) {
      Machine machine;
      machine[carry] = flag;
      machine[kA] = ~Bits{0};
      machine[kB] = ~Bits{0} - 1;
      machine.step(name, kResult, {kA, kB});
      EXPECT_EQ(flag, machine[carry]) << name;
    }
}

/// a * b of two words each, plus c of three words, by a schoolbook chain of mad.
TEST(PtxCarry, MultipliesNumbersOfManyWords) {
  for (const char* type : {"u32", "u64"}) {
    const int bits = Kind(type).bits;
    const std::string suffix = std::string(".") + type;
    std::mt19937_64 random(6);
    for (int round = 0; round < 2000; ++round) {
      const Words a = random_words(random, bits), b = random_words(random, bits), c = random_words(random, bits);
      Machine machine;
      for (std::size_t i = 0; i < kWords; ++i) {
        machine[kA + i] = a.words[i];
        machine[kB + i] = b.words[i];
        machine[kC + i] = c.words[i];
      }
      machine[kC + 3] = 0;
      // The product of the lowest words of a and the two of b, then that of the next word, one place up.
      machine.step("mad.lo.cc" + suffix, kResult, {kA, kB, kC});
      machine.step("madc.lo.cc" + suffix, kResult + 1, {kA, kB + 1, kC + 1});
      machine.step("addc" + suffix, kResult + 2, {kC + 2, kC + 3});
      machine.step("mad.hi.cc" + suffix, kResult + 1, {kA, kB, kResult + 1});
      machine.step("madc.hi.cc" + suffix, kResult + 2, {kA, kB + 1, kResult + 2});
      machine.step("madc.lo" + suffix, kResult + 3, {kC + 3, kC + 3, kC + 3});
      machine.step("mad.lo.cc" + suffix, kResult + 1, {kA + 1, kB, kResult + 1});
      machine.step("madc.hi" + suffix, kResult + 2, {kA + 1, kB, kResult + 2});
      Integer exact = c.value();
      exact += Integer(a.words[0]) * Words{{b.words[0], b.words[1]}, bits}.value();
      exact += (Integer(a.words[1]) * b.words[0]) << bits;
      const Words expected = words_of(exact, kWords, bits);
      for (std::size_t i = 0; i < kWords; ++i)
        ASSERT_EQ(expected.words[i], machine[kResult + i]) << suffix << ", word " << i << ", round " << round;
    }
  }
}

TEST(PtxCarry, MultipliesSignedFactors) {
  for (const char* type : {"s32", "s64", "u32", "u64"}) {
    const Kind kind = type;
    const Integer size = Integer(1) << kind.bits;
    std::mt19937_64 random(7);
    for (int round = 0; round < 1000; ++round)
      for (const bool high : {false, true})
        for (const bool reads : {false, true})
          for (const bool writes : {false, true}) {
            if (!reads && !writes) continue;
            const Bits a = low(random(), kind.bits), b = low(random(), kind.bits), c = low(random(), kind.bits);
            const Bits flag = random() & 1;
            Machine machine;
            machine[kA] = a;
            machine[kB] = b;
            machine[kC] = c;
            machine[carry] = flag;
            const std::string spelling =
                std::string(reads ? "madc" : "mad") + (high ? ".hi" : ".lo") + (writes ? ".cc." : ".") + type;
            machine.step(spelling, kResult, {kA, kB, kC});
            const auto signed_value = [&](Bits value) {
              const bool negative = kind.is_signed && (value >> (kind.bits - 1)) != 0;
              return negative ? Integer(Integer(value) - size) : Integer(value);
            };
            const Integer square = size * size;
            const Integer product = (signed_value(a) * signed_value(b) + square) % square;
            const Integer half = high ? Integer(product / size) : Integer(product % size);
            const Integer exact = half + c + (reads ? flag : 0);
            ASSERT_EQ(static_cast<Bits>(exact % size), machine[kResult]) << spelling << ", round " << round;
            ASSERT_EQ(writes ? static_cast<Bits>(exact / size) : flag, machine[carry]) << spelling;
          }
  }
}

}  // namespace
}  // namespace tutti::emulator::trial
