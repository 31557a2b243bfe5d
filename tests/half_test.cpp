// f16 and bf16 against a reference in double arithmetic, and the meaning of one element's reduction.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/arithmetic.hpp"

namespace tutti {
namespace {

/// A binary format of `fraction` bits whose smallest normal number is 2^smallest.
struct Format {
  int fraction;
  int smallest;
  double largest;
  int exponents() const { return 1 << (15 - fraction); }
};
constexpr Format kF16{10, -14, 65504.0};
const Format kBf16{7, -126, std::ldexp(255.0, 120)};

double value_of(const Format& format, std::uint16_t bits) {
  const int exponent = (bits >> format.fraction) & (format.exponents() - 1);
  const int fraction = bits & ((1 << format.fraction) - 1);
  double value;
  if (exponent == format.exponents() - 1) {
    value = fraction ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  } else if (exponent == 0) {
    value = std::ldexp(fraction, format.smallest - format.fraction);
  } else {
    value = std::ldexp(fraction + (1 << format.fraction), format.smallest - format.fraction + exponent - 1);
  }
  return std::copysign(value, bits & 0x8000 ? -1.0 : 1.0);
}

/// The bits nearest to a number, ties to even; any NaN as `1 << 16`.
std::uint32_t nearest(const Format& format, float number) {
  if (std::isnan(number)) return 1u << 16;
  const std::uint32_t sign = std::signbit(number) ? 0x8000u : 0u;
  const std::uint32_t infinity = static_cast<std::uint32_t>(format.exponents() - 1) << format.fraction;
  const double magnitude = std::fabs(static_cast<double>(number));
  if (std::isinf(magnitude)) return sign | infinity;
  if (magnitude == 0) return sign;
  const int exponent = std::max(std::ilogb(magnitude), format.smallest);
  const double unit = std::ldexp(1.0, exponent - format.fraction);
  const double units = std::nearbyint(magnitude / unit);  // exact division, ties to even
  if (units * unit > format.largest) return sign | infinity;
  const double step = std::ldexp(1.0, format.smallest - format.fraction);
  if (units < (1 << format.fraction)) return sign | static_cast<std::uint32_t>(units * unit / step);
  // Counting on from the significand carries into the exponent by itself.
  return sign | (static_cast<std::uint32_t>(units) +
                 (static_cast<std::uint32_t>(exponent - format.smallest) << format.fraction));
}

template <class T>
std::uint32_t converted(float number) {
  const std::uint16_t bits = from_float<T>(number).bits;
  return std::isnan(to_float(T{bits})) ? 1u << 16 : bits;
}

template <class T>
void expect_nearest(const Format& format, float number) {
  const std::uint32_t expected = nearest(format, number);
  const std::uint32_t got = converted<T>(number);
  ASSERT_EQ(expected, got) << "f32 bits 0x" << std::hex << bits_of(number);
}

template <class T>
void expect_every_value(const Format& format) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const T element{static_cast<std::uint16_t>(bits)};
    const double expected = value_of(format, element.bits);
    const float got = to_float(element);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(got)) << "bits 0x" << std::hex << bits;
      ASSERT_TRUE(std::isnan(to_float(from_float<T>(got)))) << "bits 0x" << std::hex << bits;
      continue;
    }
    ASSERT_EQ(expected, got) << "bits 0x" << std::hex << bits;
    ASSERT_EQ(std::signbit(expected), std::signbit(got)) << "bits 0x" << std::hex << bits;
    ASSERT_EQ(bits, from_float<T>(got).bits) << "value " << got;
  }
}

/// Every tie between neighbours and the two f32 beside it.
template <class T>
void expect_every_tie(const Format& format) {
  for (std::uint32_t bits = 0; bits + 1 < 0x8000; ++bits) {
    const double low = value_of(format, static_cast<std::uint16_t>(bits));
    if (!std::isfinite(low)) break;
    double high = value_of(format, static_cast<std::uint16_t>(bits + 1));
    if (std::isinf(high)) high = std::ldexp(1.0, std::ilogb(low) + 1);
    const float tie = static_cast<float>((low + high) / 2);
    for (const float number : {tie, std::nextafter(tie, 0.0f), std::nextafter(tie, INFINITY)}) {
      ASSERT_NO_FATAL_FAILURE(expect_nearest<T>(format, number));
      ASSERT_NO_FATAL_FAILURE(expect_nearest<T>(format, -number));
    }
  }
}

template <class T>
void expect_sampled_floats(const Format& format) {
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 2053) {
    ASSERT_NO_FATAL_FAILURE(expect_nearest<T>(format, float_of(static_cast<std::uint32_t>(bits))));
  }
}

TEST(Half, EveryF16ValueSurvivesTheWayToFloatAndBack) { expect_every_value<f16>(kF16); }
TEST(Half, EveryBf16ValueSurvivesTheWayToFloatAndBack) { expect_every_value<bf16>(kBf16); }
TEST(Half, F16TiesGoToEven) { expect_every_tie<f16>(kF16); }
TEST(Half, Bf16TiesGoToEven) { expect_every_tie<bf16>(kBf16); }
TEST(Half, F16IsTheNearestToAnyFloat) { expect_sampled_floats<f16>(kF16); }
TEST(Half, Bf16IsTheNearestToAnyFloat) { expect_sampled_floats<bf16>(kBf16); }

TEST(Half, WhatIsTooLargeBecomesInfinity) {
  EXPECT_EQ(0x7bff, from_float<f16>(65519.996f).bits);
  EXPECT_EQ(0x7c00, from_float<f16>(65520.0f).bits);
  EXPECT_EQ(0xfc00, from_float<f16>(-1e30f).bits);
  EXPECT_EQ(0x7f80, from_float<bf16>(std::numeric_limits<float>::max()).bits);
}

TEST(Half, ANanWhoseBitsAreAllLowStaysNan) {
  EXPECT_TRUE(std::isnan(to_float(from_float<f16>(float_of(0x7f800001)))));
  EXPECT_TRUE(std::isnan(to_float(from_float<bf16>(float_of(0xff800001)))));
}

template <class A>
void expect_nan_and_zero_rules() {
  const A nan = std::numeric_limits<A>::quiet_NaN();
  const A infinity = std::numeric_limits<A>::infinity();
  const A zero = 0;
  for (const A other : {zero, -zero, A{1}, -infinity, infinity, nan}) {
    EXPECT_TRUE(std::isnan(combine<ReduceOp::min>(nan, other))) << other;
    EXPECT_TRUE(std::isnan(combine<ReduceOp::min>(other, nan))) << other;
    EXPECT_TRUE(std::isnan(combine<ReduceOp::max>(nan, other))) << other;
    EXPECT_TRUE(std::isnan(combine<ReduceOp::max>(other, nan))) << other;
  }
  EXPECT_TRUE(std::signbit(combine<ReduceOp::min>(zero, -zero)));
  EXPECT_TRUE(std::signbit(combine<ReduceOp::min>(-zero, zero)));
  EXPECT_FALSE(std::signbit(combine<ReduceOp::max>(zero, -zero)));
  EXPECT_FALSE(std::signbit(combine<ReduceOp::max>(-zero, zero)));
  EXPECT_EQ(-infinity, combine<ReduceOp::min>(A{1}, -infinity));
  EXPECT_EQ(infinity, combine<ReduceOp::max>(infinity, A{1}));
}

TEST(Arithmetic, NanWinsAndNegativeZeroIsSmallerOnEitherSide) {
  expect_nan_and_zero_rules<float>();
  expect_nan_and_zero_rules<double>();
}

TEST(Arithmetic, IntegersWrap) {
  EXPECT_EQ(std::int8_t{-2}, combine<ReduceOp::sum>(std::int8_t{127}, std::int8_t{127}));
  EXPECT_EQ(std::uint8_t{1}, combine<ReduceOp::prod>(std::uint8_t{255}, std::uint8_t{255}));
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(std::int64_t{-2}, combine<ReduceOp::sum>(most, most));
  EXPECT_EQ(std::int64_t{1}, combine<ReduceOp::prod>(most, most));
  constexpr auto least = std::numeric_limits<std::int32_t>::min();
  EXPECT_EQ(0, combine<ReduceOp::sum>(least, least));
}

TEST(Arithmetic, AMeanIsDividedOnceAndTowardZero) {
  EXPECT_EQ(-2, (finish<std::int8_t>(std::int64_t{-5}, 2)));
  EXPECT_EQ(127, (finish<std::int8_t>(std::int64_t{8 * 127}, 8)));
  EXPECT_EQ(255, (finish<std::uint8_t>(std::uint64_t{8 * 255}, 8)));
  EXPECT_EQ(from_float<f16>(60000.0f).bits, finish<f16>(8 * 60000.0f, 8).bits);
  EXPECT_EQ(2.5f, finish<float>(5.0f, 2));
  EXPECT_EQ(5, finish<std::int32_t>(5, 1));
}

}  // namespace
}  // namespace tutti
