#include "tests/emulator/ptx/arithmetic_exact.hpp"

#include <cctype>
#include <initializer_list>
#include <map>

namespace tutti::emulator::trial {
namespace {

constexpr Bits kMadeNan = 0xfff8000000000000;

/// The NaN that an operation on these operands results in.
Bits nan_of(std::initializer_list<Bits> operands, const Layout& layout) {
  if (layout.exponent_bits != 11) return layout.canonical_nan;
  for (const Bits operand : operands)
    if (is_nan(operand, layout)) return operand | 0x0008000000000000;
  return kMadeNan;
}
bool any_nan(std::initializer_list<Bits> operands, const Layout& layout) {
  for (const Bits operand : operands)
    if (is_nan(operand, layout)) return true;
  return false;
}

/// Whether to take the magnitude above, given twice the rest against the unit.
bool goes_up(bool negative, bool odd, int rest_against_half, bool inexact, Mode mode) {
  switch (std::tolower(mode)) {
    case 'n': return rest_against_half > 0 || (rest_against_half == 0 && odd);
    case 'a': return rest_against_half >= 0;
    case 'm': return negative && inexact;
    case 'p': return !negative && inexact;
    default: return false;
  }
}

/// The magnitude of a value in units of 2^unit, rounded.
Integer in_units(const Exact& value, int unit, Mode mode) {
  if (value.exponent >= unit && !value.more) return value.significand << (value.exponent - unit);
  // Twice the unit below the value's own last place, so that "a little more" has a place.
  const Integer number = (value.significand << 2) + (value.more ? 1 : 0);
  const int places = unit - (value.exponent - 2);
  if (places <= 0) throw std::logic_error("the value is known too roughly to be rounded");
  const Integer whole = number >> places, rest = number - (whole << places), half = Integer(1) << (places - 1);
  const int against_half = rest > half ? 1 : rest == half ? 0 : -1;
  return goes_up(value.negative, (whole & 1) != 0, against_half, rest != 0, mode) ? Integer(whole + 1) : whole;
}

int bits_in(const Integer& value) { return value == 0 ? 0 : static_cast<int>(msb(value)) + 1; }

Exact sum_of(Exact a, Exact b) {
  const int exponent = std::min(a.exponent, b.exponent);
  Integer x = a.significand << (a.exponent - exponent), y = b.significand << (b.exponent - exponent);
  if (a.negative) x = -x;
  if (b.negative) y = -y;
  const Integer total = x + y;
  return {total < 0, abs(total), exponent, false};
}
Exact product_of(const Exact& a, const Exact& b) {
  return {a.negative != b.negative, a.significand * b.significand, a.exponent + b.exponent, false};
}

/// x + y where x and y are values whose exact sum may be zero; the signs decide the sign of such a zero.
Bits rounded_sum(const Exact& x, const Exact& y, const Layout& layout, Mode mode) {
  const Exact total = sum_of(x, y);
  if (total.significand != 0) return rounded(total, layout, mode);
  const bool alike = x.negative == y.negative && x.significand == 0 && y.significand == 0;
  const bool negative = alike ? x.negative : mode == 'm';
  return negative ? layout.sign() : 0;
}

}  // namespace

Layout layout(const std::string& type) {
  static const std::map<std::string, Layout> kLayouts = {{"f16", {5, 10, 0x7fff}},      {"bf16", {8, 7, 0x7fff}},
                                                         {"f32", {8, 23, 0x7fffffff}},  {"f64", {11, 52, kMadeNan}},
                                                         {"e4m3", {4, 3, 0x7f, false}}, {"e5m2", {5, 2, 0x7f}},
                                                         {"tf32", {8, 10, 0x3ffff}}};
  return kLayouts.at(type);
}

bool is_negative(Bits value, const Layout& layout) { return (value & layout.sign()) != 0; }
bool is_nan(Bits value, const Layout& layout) {
  const Bits magnitude = value & (layout.sign() - 1);
  return layout.has_infinity ? magnitude > layout.infinity() : magnitude == layout.sign() - 1;
}
bool is_infinite(Bits value, const Layout& layout) {
  return layout.has_infinity && (value & (layout.sign() - 1)) == layout.infinity();
}
bool is_zero(Bits value, const Layout& layout) { return (value & (layout.sign() - 1)) == 0; }
bool is_subnormal(Bits value, const Layout& layout) {
  return (value & layout.infinity()) == 0 && !is_zero(value, layout);
}

Exact exact(Bits value, const Layout& layout) {
  const Bits unit = Bits{1} << layout.significand_bits;
  const auto biased = static_cast<int>((value & layout.infinity()) >> layout.significand_bits);
  const Bits significand = (value & (unit - 1)) | (biased == 0 ? 0 : unit);
  const int exponent = (biased == 0 ? 0 : biased - 1) + layout.smallest_exponent() - layout.significand_bits;
  return {is_negative(value, layout), significand, exponent, false};
}
Exact exact(Int128 value) {
  const bool negative = value < 0;
  return {negative, Integer(negative ? -value : value), 0, false};
}

Bits rounded(const Exact& value, const Layout& layout, Mode mode) {
  const Bits sign = value.negative ? layout.sign() : 0;
  if (value.significand == 0 && !value.more) return sign;
  const int exponent = std::max(value.exponent + bits_in(value.significand) - 1, layout.smallest_exponent());
  const Integer units = in_units(value, exponent - layout.significand_bits, mode);
  // One unit more than the significand's bits hold is the next exponent, which the addition makes of it.
  const Integer magnitude = (Integer(exponent - layout.smallest_exponent()) << layout.significand_bits) + units;
  if (magnitude <= layout.largest()) return sign | static_cast<Bits>(magnitude);
  const bool finite = std::isupper(mode) || mode == 'z' || mode == (value.negative ? 'p' : 'm');
  return sign | (finite ? layout.largest() : layout.infinity());
}
Integer rounded_to_integer(const Exact& value, Mode mode) {
  const Integer magnitude = in_units(value, 0, mode);
  return value.negative ? Integer(-magnitude) : magnitude;
}

Bits sum(Bits a, Bits b, const Layout& layout, Mode mode) {
  if (any_nan({a, b}, layout)) return nan_of({a, b}, layout);
  if (is_infinite(a, layout) && is_infinite(b, layout)) return a == b ? a : nan_of({}, layout);
  if (is_infinite(a, layout)) return a;
  if (is_infinite(b, layout)) return b;
  return rounded_sum(exact(a, layout), exact(b, layout), layout, mode);
}
Bits difference(Bits a, Bits b, const Layout& layout, Mode mode) {
  if (any_nan({a, b}, layout)) return nan_of({a, b}, layout);
  return sum(a, b ^ layout.sign(), layout, mode);
}
Bits product(Bits a, Bits b, const Layout& layout, Mode mode) {
  if (any_nan({a, b}, layout)) return nan_of({a, b}, layout);
  const Bits sign = (a ^ b) & layout.sign();
  if (is_infinite(a, layout) || is_infinite(b, layout))
    return is_zero(a, layout) || is_zero(b, layout) ? nan_of({}, layout) : sign | layout.infinity();
  return rounded(product_of(exact(a, layout), exact(b, layout)), layout, mode);
}
Bits fused(Bits a, Bits b, Bits c, const Layout& layout, Mode mode) {
  if (any_nan({a, b, c}, layout)) return nan_of({a, b, c}, layout);
  const Bits sign = (a ^ b) & layout.sign();
  if (is_infinite(a, layout) || is_infinite(b, layout)) {
    if (is_zero(a, layout) || is_zero(b, layout)) return nan_of({}, layout);
    return sum(sign | layout.infinity(), c, layout, mode);
  }
  if (is_infinite(c, layout)) return c;
  return rounded_sum(product_of(exact(a, layout), exact(b, layout)), exact(c, layout), layout, mode);
}
Bits quotient(Bits a, Bits b, const Layout& layout, Mode mode) {
  if (any_nan({a, b}, layout)) return nan_of({a, b}, layout);
  const Bits sign = (a ^ b) & layout.sign();
  if (is_infinite(a, layout)) return is_infinite(b, layout) ? nan_of({}, layout) : sign | layout.infinity();
  if (is_infinite(b, layout)) return sign;
  if (is_zero(b, layout)) return is_zero(a, layout) ? nan_of({}, layout) : sign | layout.infinity();
  const Exact x = exact(a, layout), y = exact(b, layout);
  constexpr int kPlaces = 200;
  const Integer numerator = x.significand << kPlaces, whole = numerator / y.significand;
  return rounded({sign != 0, whole, x.exponent - y.exponent - kPlaces, whole * y.significand != numerator}, layout,
                 mode);
}
Bits root(Bits a, const Layout& layout, Mode mode) {
  if (is_nan(a, layout)) return nan_of({a}, layout);
  if (is_zero(a, layout)) return a;
  if (is_negative(a, layout)) return nan_of({}, layout);
  if (is_infinite(a, layout)) return a;
  const Exact x = exact(a, layout);
  const int places = 200 + (x.exponent & 1);
  const Integer square = x.significand << places, whole = sqrt(square);
  return rounded({false, whole, (x.exponent - places) / 2, whole * whole != square}, layout, mode);
}
Bits converted(Bits a, const Layout& from, const Layout& to, Mode mode) {
  const Bits sign = is_negative(a, from) ? to.sign() : 0;
  if (is_nan(a, from)) {
    if (to.exponent_bits != 11) return to.canonical_nan;
    const Bits payload = (a & (from.sign() - 1) & ~from.infinity()) << (52 - from.significand_bits);
    return sign | to.infinity() | 0x0008000000000000 | payload;
  }
  if (is_infinite(a, from)) return sign | (std::isupper(mode) ? to.largest() : to.infinity());
  return rounded(exact(a, from), to, mode);
}

Bits flushed(Bits value, const Layout& layout) { return is_subnormal(value, layout) ? value & layout.sign() : value; }
Bits saturated(Bits value, const Layout& layout) {
  const Bits one = static_cast<Bits>(-layout.smallest_exponent() + 1) << layout.significand_bits;
  if (is_nan(value, layout) || is_negative(value, layout)) return 0;
  return std::min(value, one);
}
Bits rectified(Bits value, const Layout& layout) {
  return !is_nan(value, layout) && is_negative(value, layout) ? 0 : value;
}

bool is_less(Bits a, Bits b, const Layout& layout) {
  if (is_negative(a, layout) != is_negative(b, layout)) return is_negative(a, layout);
  return is_negative(a, layout) ? a > b : a < b;
}

}  // namespace tutti::emulator::trial
