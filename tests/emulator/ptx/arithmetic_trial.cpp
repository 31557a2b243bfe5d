#include "tests/emulator/ptx/arithmetic_trial.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <map>

namespace tutti::emulator::trial {
namespace {

constexpr Slot kFirstOperand = 100, kFirstResult = 200;
constexpr int kReported = 5;
/// Of more combinations of samples, so many are drawn.
constexpr std::size_t kMostCombinations = 8000;

Bits random_bits(std::mt19937_64& random, const Kind& kind) {
  Bits value = random();
  // Half of the integers are short, else sums would rarely be small and fields rarely short.
  if (!kind.is_float && random() % 2 == 0) value >>= random() % 64;
  return low(kind.name == "n" ? value % 70 : value, kind.bits);
}

std::vector<Bits> integer_samples(const Kind& kind) {
  std::vector<Bits> all = {0, 1, 2, 3, 7, 8, 0x0f, 0x5a, 0x5555555555555555, 0xaaaaaaaaaaaaaaaa, 0x0123456789abcdef};
  for (int shift = kind.bits / 2 - 1; shift < kind.bits; shift += kind.bits / 4)
    for (const int around : {-1, 0, 1}) all.push_back((Bits{1} << shift) + static_cast<Bits>(around));
  for (const Bits negative : {1, 2, 3, 100}) all.push_back(0 - negative);
  return all;
}

std::vector<Bits> half_samples() {
  return {0,      0x0001, 0x0002, 0x01ff, 0x0200, 0x03ff, 0x0400, 0x0401, 0x1400, 0x3555, 0x37ff, 0x3800,
          0x3c00, 0x3c01, 0x3e00, 0x4000, 0x4170, 0x63ff, 0x7800, 0x7bff, 0x7c00, 0x7c01, 0x7e00, 0x7fff};
}
std::vector<Bits> bfloat_samples() {
  return {0,      0x0001, 0x0002, 0x003f, 0x0040, 0x007f, 0x0080, 0x0081, 0x3380, 0x3eaa, 0x3eff, 0x3f00,
          0x3f80, 0x3f81, 0x3fc0, 0x4000, 0x4049, 0x4b7f, 0x7f00, 0x7f7f, 0x7f80, 0x7f81, 0x7fc0, 0x7fff};
}
std::vector<Bits> float_samples() {
  return {0,          1,          2,          0x003fffff, 0x007fffff, 0x00800000, 0x00800001, 0x1a000000, 0x33800000,
          0x33800001, 0x34000000, 0x3eaaaaab, 0x3effffff, 0x3f000000, 0x3f7fffff, 0x3f800000, 0x3f800001, 0x3fc00000,
          0x40490fdb, 0x4b7fffff, 0x4f000000, 0x7effffff, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fc00000, 0x7fffffff};
}
std::vector<Bits> double_samples() {
  return {0,
          1,
          2,
          0x000fffffffffffff,
          0x0010000000000000,
          0x0010000000000001,
          0x1ff0000000000000,
          0x36a0000000000000,
          0x3810000000000000,
          0x3ca0000000000000,
          0x3ca0000000000001,
          0x3fd5555555555555,
          0x3fdfffffffffffff,
          0x3fe0000000000000,
          0x3fefffffffffffff,
          0x3ff0000000000000,
          0x3ff0000000000001,
          0x3ff8000000000000,
          0x400921fb54442d18,
          0x41dfffffffc00000,
          0x43e0000000000000,
          0x47efffffefffffff,
          0x7fe0000000000000,
          0x7fefffffffffffff,
          0x7ff0000000000000,
          0x7ff0000000000001,
          0x7ff8000000000000,
          0x7ff8000000001234};
}

std::vector<Bits> with_negatives(std::vector<Bits> positive, int bits) {
  const std::size_t count = positive.size();
  for (std::size_t i = 0; i < count; ++i) positive.push_back(positive[i] | Bits{1} << (bits - 1));
  return positive;
}

/// All combinations of the lists' elements.
void for_combinations(const std::vector<std::vector<Bits>>& lists, const std::function<void(std::vector<Bits>&)>& f) {
  std::vector<std::size_t> at(lists.size(), 0);
  std::vector<Bits> values(lists.size());
  for (;;) {
    for (std::size_t i = 0; i < lists.size(); ++i) values[i] = lists[i][at[i]];
    f(values);
    std::size_t i = 0;
    while (i < lists.size() && ++at[i] == lists[i].size()) at[i++] = 0;
    if (i == lists.size()) return;
  }
}

std::string hex(std::span<const Bits> values) { return fmt::format("{:#x}", fmt::join(values, ", ")); }

/// Compares one run with what is expected, and says the first differences.
class Comparison {
 public:
  Comparison(const std::string& spelling, bool pair, const std::vector<Kind>& operands, std::vector<Kind> results)
      : spelling_(spelling), trial_(spelling, pair), operands_(operands), results_(std::move(results)) {
    if (!trial_.exists()) {
      ADD_FAILURE() << spelling << (pair ? " with p|q" : "") << " is not in the table";
      return;
    }
    EXPECT_EQ(static_cast<int>(operands_.size()), trial_.computation().from) << "sources of " << spelling;
    EXPECT_EQ(static_cast<int>(results_.size()), trial_.computation().to) << "destinations of " << spelling;
    possible_ = static_cast<int>(operands_.size()) == trial_.computation().from &&
                static_cast<int>(results_.size()) == trial_.computation().to;
  }
  bool possible() const { return possible_ && reported_ < kReported; }
  void run(std::span<const Bits> values, std::span<const Bits> expected) {
    if (!possible()) return;
    const std::vector<Bits> got = trial_.run(values, operands_);
    for (std::size_t i = 0; i < results_.size(); ++i) {
      const Bits wanted = in_slot(expected[i], results_[i]);
      if (got[i] == wanted) continue;
      ++reported_;
      ADD_FAILURE() << fmt::format("{} of {}: destination {} is {:#x}, expected {:#x}", spelling_, hex(values), i,
                                   got[i], wanted);
      return;
    }
  }

 private:
  std::string spelling_;
  Trial trial_;
  std::vector<Kind> operands_, results_;
  bool possible_ = false;
  int reported_ = 0;
};

void run_all(Comparison& comparison, const std::vector<Kind>& operands,
             const std::function<std::vector<Bits>(std::span<const Bits>)>& expected) {
  std::vector<std::vector<Bits>> lists;
  for (const Kind& kind : operands) lists.push_back(samples(kind));
  std::size_t combinations = 1;
  for (const std::vector<Bits>& list : lists) combinations *= list.size();
  std::mt19937_64 random(2);
  std::vector<Bits> values(operands.size());
  if (combinations <= kMostCombinations) {
    for_combinations(lists, [&](std::vector<Bits>& chosen) {
      if (comparison.possible()) comparison.run(chosen, expected(chosen));
    });
  } else {
    for (std::size_t round = 0; round < kMostCombinations && comparison.possible(); ++round) {
      for (std::size_t i = 0; i < operands.size(); ++i) values[i] = lists[i][random() % lists[i].size()];
      comparison.run(values, expected(values));
    }
  }
  for (int round = 0; round < 500 && comparison.possible(); ++round) {
    for (std::size_t i = 0; i < operands.size(); ++i) values[i] = random_bits(random, operands[i]);
    comparison.run(values, expected(values));
  }
}

}  // namespace

Kind::Kind(const char* text) : name(text) {
  std::string type = name;
  if (type.ends_with("x2")) {
    parts = 2;
    type = type.substr(0, type.size() - 2);
  }
  static const std::map<std::string, int> kOthers = {{"pred", 1}, {"n", 32},   {"f16", 16}, {"bf16", 16},
                                                     {"f32", 32}, {"f64", 64}, {"e4m3", 8}, {"e5m2", 8}};
  const auto other = kOthers.find(type);
  bits = parts * (other != kOthers.end() ? other->second : std::stoi(type.substr(1)));
  is_signed = parts == 1 && type[0] == 's';
  is_float = type[0] == 'f' || type.starts_with("bf");
}

Bits low(Bits value, int bits) { return bits == 64 ? value : value & ((Bits{1} << bits) - 1); }

Int128 number(Bits value, const Kind& kind) {
  const auto unsigned_number = static_cast<Int128>(low(value, kind.bits));
  const bool negative = kind.is_signed && (value >> (kind.bits - 1) & 1) != 0;
  return negative ? unsigned_number - (Int128{1} << kind.bits) : unsigned_number;
}

Bits in_slot(Bits value, const Kind& kind) { return static_cast<Bits>(number(value, kind)); }

std::vector<Bits> samples(const Kind& kind) {
  std::vector<Bits> all;
  if (kind.parts == 2) {
    const std::vector<Bits> part = samples(Kind(kind.name.substr(0, kind.name.size() - 2)));
    const int bits = kind.bits / 2;
    // Each value in each half, beside another one.
    for (std::size_t i = 0; i < part.size(); ++i) {
      const Bits other = part[(i * 7 + 3) % part.size()];
      all.push_back(low(part[i], bits) | low(other, bits) << bits);
      all.push_back(low(other, bits) | low(part[i], bits) << bits);
    }
  } else if (kind.name == "pred") {
    all = {0, 1};
  } else if (kind.name == "n") {
    all = {0, 1, 2, 5, 8, 15, 16, 17, 24, 31, 32, 33, 40, 63, 64, 65, 128, 255, 256, 257, 0x7fffffff, 0xffffffff};
  } else if (kind.name == "f16") {
    all = with_negatives(half_samples(), 16);
  } else if (kind.name == "bf16") {
    all = with_negatives(bfloat_samples(), 16);
  } else if (kind.name == "f32") {
    all = with_negatives(float_samples(), 32);
  } else if (kind.name == "f64") {
    all = with_negatives(double_samples(), 64);
  } else {
    all = integer_samples(kind);
  }
  std::set<Bits> once;
  for (const Bits value : all) once.insert(low(value, kind.bits));
  return {once.begin(), once.end()};
}

std::vector<Bits> samples(const Kind& kind, int count) {
  std::vector<Bits> all = samples(kind);
  std::mt19937_64 random(3);
  for (int i = 0; i < count; ++i) all.push_back(random_bits(random, kind));
  return all;
}

std::set<std::string>& tested() {
  static std::set<std::string> all;
  return all;
}

Trial::Trial(const std::string& spelling, bool pair)
    : spelling_(spelling), computation_(find_computation(spelling, pair)), slots_(300) {
  if (exists()) tested().insert(pair ? fmt::format("{}|", spelling) : spelling);
  instruction_.kind = emulator::Kind::compute;
  for (int i = 0; i < Instruction::kOperands; ++i) {
    instruction_.from[i] = static_cast<Slot>(kFirstOperand + i);
    instruction_.to[i] = static_cast<Slot>(kFirstResult + i);
  }
}

std::vector<Bits> Trial::run(std::span<const Bits> operands, std::span<const Kind> kinds) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Bits above = kinds[i].bits == 64 ? 0 : random_() << kinds[i].bits;
    slots_[kFirstOperand + i] = above | low(operands[i], kinds[i].bits);
  }
  for (int i = 0; i < computation_.to; ++i) slots_[static_cast<std::size_t>(kFirstResult + i)] = random_();
  computation_.compute(slots_.data(), instruction_);
  const auto first = slots_.begin() + kFirstResult;
  return {first, first + computation_.to};
}

void check(const std::string& spelling, const std::vector<Kind>& operands, const Kind& result,
           const Expected& expected) {
  Comparison comparison(spelling, false, operands, {result});
  run_all(comparison, operands, [&](std::span<const Bits> values) { return std::vector<Bits>{expected(values)}; });
}

void check_on(const std::string& spelling, const std::vector<Kind>& operands, const Kind& result,
              const std::vector<std::vector<Bits>>& cases, const Expected& expected) {
  Comparison comparison(spelling, false, operands, {result});
  for (const std::vector<Bits>& values : cases) {
    if (!comparison.possible()) return;
    const Bits wanted = expected(values);
    comparison.run(values, std::span(&wanted, 1));
  }
}

void check_halves(const std::string& spelling, const std::vector<Kind>& halves, const Kind& half_result,
                  const Expected& expected) {
  std::vector<Kind> pairs;
  for (const Kind& kind : halves) pairs.emplace_back(kind.name == "pred" ? kind.name : kind.name + "x2");
  check(spelling, pairs, Kind(half_result.name + "x2"), [&](std::span<const Bits> values) {
    std::vector<Bits> lows, highs;
    for (std::size_t i = 0; i < values.size(); ++i) {
      lows.push_back(low(values[i], halves[i].bits));
      highs.push_back(halves[i].name == "pred" ? values[i] : values[i] >> halves[i].bits);
    }
    return low(expected(lows), half_result.bits) | low(expected(highs), half_result.bits) << half_result.bits;
  });
}

void check_two(const std::string& spelling, const std::vector<Kind>& operands, const Kind& first, const Kind& second,
               const ExpectedTwo& expected) {
  Comparison comparison(spelling, true, operands, {first, second});
  run_all(comparison, operands, [&](std::span<const Bits> values) {
    const auto [one, two] = expected(values);
    return std::vector<Bits>{one, two};
  });
}

}  // namespace tutti::emulator::trial
