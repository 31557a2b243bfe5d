// Functions that PTX defines by an error bound: .approx and .full. Here they are computed in double and rounded once,
// so they keep every bound; a GPU's results differ in the last bits. Also testp.
#include <fmt/format.h>

#include <cmath>

#include "tests/emulator/ptx/arithmetic_rounding.hpp"

namespace tutti::emulator::arithmetic {
namespace {

template <class T>
T from_double(double a) {
  return rounded<T, Rounding::nearest>(a);
}
template <class T>
double number(T a) {
  return static_cast<double>(to_host(a));
}

template <class T>
T ex2(T a) {
  return from_double<T>(std::exp2(number(a)));
}
template <class T>
T tanh(T a) {
  return from_double<T>(std::tanh(number(a)));
}
float lg2(float a) { return from_double<float>(std::log2(number(a))); }
float sin(float a) { return from_double<float>(std::sin(number(a))); }
float cos(float a) { return from_double<float>(std::cos(number(a))); }
float rcp(float a) { return from_double<float>(1 / number(a)); }
float sqrt(float a) { return from_double<float>(std::sqrt(number(a))); }
float rsqrt(float a) { return from_double<float>(1 / std::sqrt(number(a))); }

float div_full(float a, float b) { return canonical(a / b); }
/// The documented range: beyond 2^126 the reciprocal of b counts as zero.
float div_approx(float a, float b) {
  if (std::fabs(b) > 0x1p126f) return canonical(a * std::copysign(0.0f, b));
  return canonical(a / b);
}

/// f64 with its low 32 bits zero: the coarse functions of f64 see and give no more.
double upper_half(double a) { return std::bit_cast<double>(std::bit_cast<std::uint64_t>(a) & 0xffffffff00000000); }
double coarse(double a) { return is_nan(a) ? std::bit_cast<double>(0x7fffffff00000000) : flushed(upper_half(a)); }
double rcp_coarse(double a) { return coarse(1 / flushed(upper_half(a))); }
double rsqrt_coarse(double a) { return coarse(1 / std::sqrt(flushed(upper_half(a)))); }
double rsqrt_approx(double a) { return with_nan(1 / std::sqrt(a), a); }

template <auto function>
void add_approximation(Table& table, const char* operation) {
  table.add(fmt::format("{}.f32", operation), computation<function>());
  table.add(fmt::format("{}.ftz.f32", operation), computation<modified<function, true>>());
}

/// The classes of numbers that testp asks for.
template <class T>
bool is_finite(T a) {
  return std::isfinite(a);
}
template <class T>
bool is_infinite(T a) {
  return std::isinf(a);
}
template <class T>
bool is_number(T a) {
  return !is_nan(a);
}
template <class T>
bool is_not_a_number(T a) {
  return is_nan(a);
}
template <class T>
bool is_normal(T a) {
  return std::isnormal(a);
}
template <class T>
bool is_subnormal(T a) {
  return std::fpclassify(a) == FP_SUBNORMAL;
}

}  // namespace

void add_float_functions(Table& table) {
  add_approximation<&ex2<float>>(table, "ex2.approx");
  add_approximation<&lg2>(table, "lg2.approx");
  add_approximation<&sin>(table, "sin.approx");
  add_approximation<&cos>(table, "cos.approx");
  add_approximation<&rcp>(table, "rcp.approx");
  add_approximation<&sqrt>(table, "sqrt.approx");
  add_approximation<&rsqrt>(table, "rsqrt.approx");
  add_approximation<&div_full>(table, "div.full");
  add_approximation<&div_approx>(table, "div.approx");
  table.add("tanh.approx.f32", computation<&tanh<float>>());
  table.add("rcp.approx.ftz.f64", computation<&rcp_coarse>());
  table.add("rsqrt.approx.ftz.f64", computation<&rsqrt_coarse>());
  table.add("rsqrt.approx.f64", computation<&rsqrt_approx>());

  table.add("ex2.approx.f16", computation<&ex2<F16>>());
  table.add("ex2.approx.f16x2", computation<in_halves<&ex2<F16>>>());
  table.add("ex2.approx.ftz.bf16", computation<modified<&ex2<BF16>, true>>());
  table.add("ex2.approx.ftz.bf16x2", computation<in_halves<modified<&ex2<BF16>, true>>>());
  for_types<F16, BF16>([&]<class T>() {
    table.add("tanh.approx." + name_of<T>(), computation<&tanh<T>>());
    table.add("tanh.approx." + name_of<Pair<T>>(), computation<in_halves<&tanh<T>>>());
  });

  for_types<float, double>([&]<class T>() {
    const std::string type = name_of<T>();
    table.add("testp.finite." + type, computation<&is_finite<T>>());
    table.add("testp.infinite." + type, computation<&is_infinite<T>>());
    table.add("testp.number." + type, computation<&is_number<T>>());
    table.add("testp.notanumber." + type, computation<&is_not_a_number<T>>());
    table.add("testp.normal." + type, computation<&is_normal<T>>());
    table.add("testp.subnormal." + type, computation<&is_subnormal<T>>());
  });
}

}  // namespace tutti::emulator::arithmetic
