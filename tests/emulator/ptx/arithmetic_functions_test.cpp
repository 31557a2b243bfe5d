// Functions that PTX defines up to an error, against long double.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tests/emulator/ptx/arithmetic_exact.hpp"

namespace tutti::emulator::trial {
namespace {

using Function = std::function<long double(const std::vector<long double>&)>;

long double value_of(Bits bits, const Layout& l) {
  if (is_nan(bits, l)) return std::nanl("");
  const long double sign = is_negative(bits, l) ? -1 : 1;
  if (is_infinite(bits, l)) return sign * HUGE_VALL;
  const Exact x = exact(bits, l);
  return sign * std::ldexp(static_cast<long double>(x.significand), x.exponent);
}
/// A long double as the nearest value of a format; with .ftz.
Bits nearest(long double value, const Layout& l) {
  if (std::isnan(value)) return l.canonical_nan;
  const Bits sign = std::signbit(value) ? l.sign() : 0;
  if (std::isinf(value)) return sign | l.infinity();
  int exponent = 0;
  const long double fraction = std::frexp(std::fabs(value), &exponent);
  const auto significand = static_cast<std::uint64_t>(std::ldexp(fraction, 64));
  return rounded({sign != 0, significand, exponent - 64, false}, l, 'n');
}

/// Checks that results are at most one unit of the last place away, and that zeros, infinities, NaN are exact.
void check_close(const std::string& spelling, std::size_t operands, const std::string& type, bool ftz,
                 const std::vector<std::vector<Bits>>& cases, const Function& function) {
  const Layout l = layout(type);
  Trial trial(spelling);
  ASSERT_TRUE(trial.exists()) << spelling;
  ASSERT_EQ(static_cast<int>(operands), trial.computation().from) << spelling;
  const std::vector<Kind> kinds(operands, Kind(type));
  int reported = 0;
  for (const std::vector<Bits>& values : cases) {
    std::vector<long double> numbers;
    for (const Bits bits : values) numbers.push_back(value_of(ftz ? flushed(bits, l) : bits, l));
    Bits expected = nearest(function(numbers), l);
    if (ftz) expected = flushed(expected, l);
    const Bits got = trial.run(values, kinds)[0];
    const bool exact_needed = is_nan(expected, l) || is_infinite(expected, l) || is_zero(expected, l);
    const Bits distance = got > expected ? got - expected : expected - got;
    if (distance == 0 || (!exact_needed && distance == 1)) continue;
    ADD_FAILURE() << fmt::format("{} of {:#x}{}: {:#x}, expected about {:#x}", spelling, values[0],
                                 values.size() > 1 ? fmt::format(", {:#x}", values[1]) : "", got, expected);
    if (++reported == 5) return;
  }
}

std::vector<std::vector<Bits>> cases_of(const std::string& type, std::size_t operands) {
  std::vector<std::vector<Bits>> cases;
  if (operands == 1) {
    for (const Bits value : samples(Kind(type), 3000)) cases.push_back({value});
    // Numbers near one, where functions are interesting.
    for (Bits i = 0; i < 2000; ++i) cases.push_back({low(0x3d000000 + i * 0x00012345, 31) | (i % 2) << 31});
  } else {
    for (const Bits a : samples(Kind(type), 30))
      for (const Bits b : samples(Kind(type), 30)) cases.push_back({a, b});
  }
  return cases;
}

void check_f32(const std::string& name, const Function& function, std::size_t operands = 1) {
  const std::vector<std::vector<Bits>> cases = cases_of("f32", operands);
  check_close(name + ".f32", operands, "f32", false, cases, function);
  check_close(name + ".ftz.f32", operands, "f32", true, cases, function);
}

TEST(PtxFunctions, ApproximateWithinOneUnitOfTheLastPlace) {
  check_f32("ex2.approx", [](const auto& v) { return std::exp2(v[0]); });
  check_f32("lg2.approx", [](const auto& v) { return v[0] < 0 ? std::nanl("") : std::log2(v[0]); });
  check_f32("sin.approx", [](const auto& v) { return std::sin(v[0]); });
  check_f32("cos.approx", [](const auto& v) { return std::cos(v[0]); });
  check_f32("rcp.approx", [](const auto& v) { return 1 / v[0]; });
  check_f32("sqrt.approx", [](const auto& v) { return std::sqrt(v[0]); });
  check_f32("rsqrt.approx", [](const auto& v) { return 1 / std::sqrt(v[0]); });
  check_f32(
      "div.full", [](const auto& v) { return v[0] / v[1]; }, 2);
  check_close("tanh.approx.f32", 1, "f32", false, cases_of("f32", 1), [](const auto& v) { return std::tanh(v[0]); });
}

TEST(PtxFunctions, DivideByTheReciprocalInItsRange) {
  check_f32(
      "div.approx",
      [](const auto& v) {
        const bool beyond = std::fabs(v[1]) > 0x1p126L && !std::isinf(v[1]);
        return beyond ? v[0] * std::copysign(0.0L, v[1]) : v[0] / v[1];
      },
      2);
}

TEST(PtxFunctions, ApproximateEveryHalf) {
  std::vector<std::vector<Bits>> all;
  for (Bits value = 0; value < 0x10000; ++value) all.push_back({value});
  const Function ex2 = [](const auto&v) { return std::exp2(v[0]); },
                 tanh = [](const auto&v) { return std::tanh(v[0]); };
  check_close("ex2.approx.f16", 1, "f16", false, all, ex2);
  check_close("ex2.approx.ftz.bf16", 1, "bf16", true, all, ex2);
  check_close("tanh.approx.f16", 1, "f16", false, all, tanh);
  check_close("tanh.approx.bf16", 1, "bf16", false, all, tanh);
}

TEST(PtxFunctions, ApproximateHalvesOfPairsAlike) {
  for (const auto& [name, type] : {std::pair{"ex2.approx.", "f16"},
                                   {"ex2.approx.ftz.", "bf16"},
                                   {"tanh.approx.", "f16"},
                                   {"tanh.approx.", "bf16"}}) {
    Trial scalar(std::string(name) + type);
    const std::vector<Kind> kinds = {type};
    check_halves(std::string(name) + type + "x2", kinds, type,
                 [&](std::span<const Bits> v) { return scalar.run(v, kinds)[0]; });
  }
}

TEST(PtxFunctions, SeeAndGiveTheUpperHalfOfDoublesWhenCoarse) {
  const Layout f64 = layout("f64");
  const auto reciprocal = [](long double a) { return 1 / a; };
  const auto root = [](long double a) { return 1 / std::sqrt(a); };
  for (const auto& [spelling, function] :
       {std::pair<std::string, std::function<long double(long double)>>{"rcp.approx.ftz.f64", reciprocal},
        {"rsqrt.approx.ftz.f64", root}}) {
    Trial trial(spelling);
    ASSERT_TRUE(trial.exists());
    const std::vector<Kind> kinds = {"f64"};
    for (const Bits value : samples("f64", 3000)) {
      const Bits seen = flushed(value & 0xffffffff00000000, f64);
      const Bits got = trial.run(std::vector<Bits>{value}, kinds)[0];
      const long double expected = function(value_of(seen, f64));
      EXPECT_EQ(0u, got & 0xffffffff) << spelling << " of " << std::hex << value;
      if (std::isnan(expected)) {
        EXPECT_TRUE(is_nan(got, f64)) << spelling << " of " << std::hex << value << " is " << got;
      } else if (std::fabs(expected) < 0x1p-1022L || std::isinf(expected)) {
        const Bits sign = std::signbit(expected) ? f64.sign() : 0;
        EXPECT_EQ(sign | (std::isinf(expected) ? f64.infinity() : 0), got) << spelling << " of " << std::hex << value;
      } else {
        EXPECT_LE(std::fabs(value_of(got, f64) / expected - 1), 0x1p-20L) << spelling << " of " << std::hex << value;
      }
    }
  }
}

TEST(PtxFunctions, ApproximateReciprocalRootsOfDoubles) {
  const Layout f64 = layout("f64");
  Trial trial("rsqrt.approx.f64");
  ASSERT_TRUE(trial.exists());
  const std::vector<Kind> kinds = {"f64"};
  for (const Bits value : samples("f64", 3000)) {
    const Bits got = trial.run(std::vector<Bits>{value}, kinds)[0];
    if (is_nan(value, f64)) {
      EXPECT_EQ(value | 0x0008000000000000, got);
      continue;
    }
    const Bits expected = nearest(1 / std::sqrt(value_of(value, f64)), f64);
    const Bits distance = got > expected ? got - expected : expected - got;
    EXPECT_LE(distance, is_nan(expected, f64) ? 0u : 1u) << std::hex << value << ": " << got << ", not " << expected;
  }
}

}  // namespace
}  // namespace tutti::emulator::trial
