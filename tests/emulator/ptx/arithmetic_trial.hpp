// Runs single PTX instructions on values with known results. Values are bits here: what the types of the emulator are
// and how they are converted is what is being tested.
#pragma once
#include <cstdint>
#include <functional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tests/emulator/ptx/arithmetic.hpp"

namespace tutti::emulator::trial {

using Bits = std::uint64_t;
__extension__ typedef __int128 Int128;

/// An operand's type: u8 ... s64, b8 ... b64, pred, f16, bf16, f32, f64, and x2 of those; `n` for shift amounts and
/// the like: a u32 whose samples are small.
struct Kind {
  std::string name;
  int bits = 0;
  bool is_signed = false;
  bool is_float = false;
  int parts = 1;

  Kind(const char* text);  // NOLINT(google-explicit-constructor): lists of operands are easier to read
  Kind(const std::string& text) : Kind(text.c_str()) {}  // NOLINT(google-explicit-constructor)
};

/// The low bits.
Bits low(Bits value, int bits);
/// The number that bits stand for in an integer type.
Int128 number(Bits value, const Kind& kind);
/// What a slot must hold for a value.
Bits in_slot(Bits value, const Kind& kind);

/// Values where things go wrong: zeros, ones, largest, smallest, subnormal, infinite, NaN, halves, powers, ...
std::vector<Bits> samples(const Kind& kind);
/// The same and `count` random ones.
std::vector<Bits> samples(const Kind& kind, int count);

/// Spellings that were run: with p|q as "spelling|".
std::set<std::string>& tested();

/// One instruction.
class Trial {
 public:
  explicit Trial(const std::string& spelling, bool pair = false);
  bool exists() const { return computation_.compute != nullptr; }
  const Computation& computation() const { return computation_; }
  /// Runs it once; the slots of the operands have other bits above the low ones of `kinds`, and the destinations'
  /// slots are dirty. Returns the destinations' slots.
  std::vector<Bits> run(std::span<const Bits> operands, std::span<const Kind> kinds);

 private:
  std::string spelling_;
  Computation computation_;
  Instruction instruction_;
  std::vector<Bits> slots_;
  std::mt19937_64 random_{1};
};

/// The low bits of the result for the low bits of the operands.
using Expected = std::function<Bits(std::span<const Bits>)>;

/// Runs the instruction on all combinations of samples of its operands (on thousands of them if there are more) and on
/// random ones, and compares what is in the destination's slot. Reports the first few differences.
void check(const std::string& spelling, const std::vector<Kind>& operands, const Kind& result,
           const Expected& expected);
/// On given operands only.
void check_on(const std::string& spelling, const std::vector<Kind>& operands, const Kind& result,
              const std::vector<std::vector<Bits>>& cases, const Expected& expected);
/// For an instruction on x2 types: `expected` is about one half.
void check_halves(const std::string& spelling, const std::vector<Kind>& halves, const Kind& half_result,
                  const Expected& expected);
/// For an instruction with two destinations.
using ExpectedTwo = std::function<std::pair<Bits, Bits>(std::span<const Bits>)>;
void check_two(const std::string& spelling, const std::vector<Kind>& operands, const Kind& first, const Kind& second,
               const ExpectedTwo& expected);

}  // namespace tutti::emulator::trial
