// Floating point arithmetic by integers of any length, rounded once: what the emulator's results are compared with.
#pragma once
#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>
#include <string>

#include "tests/emulator/ptx/arithmetic_trial.hpp"

namespace tutti::emulator::trial {

using Integer = boost::multiprecision::cpp_int;

/// A binary format of IEEE 754, or e4m3, which has no infinity and one NaN.
struct Layout {
  int exponent_bits, significand_bits;
  Bits canonical_nan;
  bool has_infinity = true;

  Bits sign() const { return Bits{1} << (exponent_bits + significand_bits); }
  Bits infinity() const { return ((Bits{1} << exponent_bits) - 1) << significand_bits; }
  Bits largest() const { return has_infinity ? infinity() - 1 : sign() - 2; }
  int smallest_exponent() const { return 2 - (1 << (exponent_bits - 1)); }
};
/// Of f16, bf16, f32, f64, e4m3, e5m2, and tf32 as a format of its own 19 bits.
Layout layout(const std::string& type);

/// (-1)^negative * significand * 2^exponent, and less than one unit more if `more`.
struct Exact {
  bool negative = false;
  Integer significand = 0;
  int exponent = 0;
  bool more = false;
};

bool is_nan(Bits value, const Layout& layout);
bool is_infinite(Bits value, const Layout& layout);
bool is_zero(Bits value, const Layout& layout);
bool is_negative(Bits value, const Layout& layout);
bool is_subnormal(Bits value, const Layout& layout);

/// The value of finite bits.
Exact exact(Bits value, const Layout& layout);
Exact exact(Int128 value);

/// How to round: n(earest even), z(ero), m(inus infinity), p(lus infinity), a(way from zero on ties); or, without
/// infinities in the result, in capitals.
using Mode = char;

/// The nearest value in the mode's sense.
Bits rounded(const Exact& value, const Layout& layout, Mode mode);
/// The nearest integer in the mode's sense.
Integer rounded_to_integer(const Exact& value, Mode mode);

// IEEE operations. NaN: the canonical one; of f64 the first NaN operand, made quiet, or 0xfff8000000000000.
Bits sum(Bits a, Bits b, const Layout& layout, Mode mode);
Bits difference(Bits a, Bits b, const Layout& layout, Mode mode);
Bits product(Bits a, Bits b, const Layout& layout, Mode mode);
Bits fused(Bits a, Bits b, Bits c, const Layout& layout, Mode mode);
Bits quotient(Bits a, Bits b, const Layout& layout, Mode mode);
Bits root(Bits a, const Layout& layout, Mode mode);
/// A value of one format in another.
Bits converted(Bits a, const Layout& from, const Layout& to, Mode mode);

/// .ftz, .sat, .relu.
Bits flushed(Bits value, const Layout& layout);
Bits saturated(Bits value, const Layout& layout);
Bits rectified(Bits value, const Layout& layout);

/// a < b of numbers, -0 being less than +0.
bool is_less(Bits a, Bits b, const Layout& layout);

}  // namespace tutti::emulator::trial
