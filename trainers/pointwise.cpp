// The elementwise part of maths.hpp on the CPU.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "trainers/maths.hpp"

// One copy of each hot loop per instruction set, chosen when the program starts. Sanitizers cannot run the choosing
// function. No copy contracts a * b + c (ISO mode), so all give the same bits.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define PER_ISA __attribute__((target_clones("default", "arch=haswell", "arch=skylake-avx512")))
#else
#define PER_ISA
#endif
#define LOOP_BODY static inline __attribute__((always_inline))

namespace tutti::trainers::maths {
namespace {

/// exp(x) for x <= 0 to 2 ulp or so, without branches or calls, so that loops around it vectorise.
LOOP_BODY float exp_of_negative(float x) {
  x = x < -87.0f ? -87.0f : x;
  constexpr float round_to_int = 12582912.0f;  // 1.5 * 2^23: adding it leaves the integer in the low mantissa bits
  const float shifted = x * 1.44269504f + round_to_int;
  const float n = shifted - round_to_int;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const auto exponent = (std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(round_to_int) + 127) << 23;
  return p * std::bit_cast<float>(exponent);
}

/// x * Phi(x) and its slope Phi(x) + x * phi(x). f32: erf by Abramowitz and Stegun 7.1.26 (error below 1.5e-7), whose
/// exp is phi's too.
LOOP_BODY void gelu(float& value, float& slope) {
  const float x = value;
  const float z = std::fabs(x) * 0.70710678f;
  const float e = exp_of_negative(-z * z);
  const float t = 1.0f / (1.0f + 0.3275911f * z);
  const float poly =
      t * (0.254829592f + t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
  const float tail = 0.5f * poly * e;
  const float phi_sum = x < 0 ? tail : 1.0f - tail;
  value = x * phi_sum;
  slope = phi_sum + x * (0.39894228f * e);
}
LOOP_BODY void gelu(double& value, double& slope) {
  const double x = value;
  const double phi_sum = 0.5 * std::erfc(-x * std::numbers::sqrt2 / 2);
  value = x * phi_sum;
  slope = phi_sum + x * std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
}

template <class T>
LOOP_BODY void activate_row(Activation activation, T bias, int rows, T* values, T* slopes) {
  switch (activation) {
    case Activation::none:
      for (int i = 0; i < rows; ++i) values[i] += bias;
      break;
    case Activation::relu:
      // Written so that NaN stays NaN: a diverged run must show.
      for (int i = 0; i < rows; ++i) {
        const T x = values[i] + bias;
        values[i] = x < 0 ? T{0} : x;
      }
      break;
    case Activation::gelu:
      for (int i = 0; i < rows; ++i) {
        T x = values[i] + bias;
        gelu(x, slopes[i]);
        values[i] = x;
      }
  }
}

template <class T>
LOOP_BODY void activate_rows(Activation activation, const T* bias, int features, int rows, T* values, T* slopes) {
  for (int f = 0; f < features; ++f) {
    const std::size_t at = static_cast<std::size_t>(f) * static_cast<std::size_t>(rows);
    activate_row(activation, bias ? bias[f] : T{0}, rows, values + at, slopes ? slopes + at : nullptr);
  }
}

template <class T>
LOOP_BODY void backward_loop(Activation activation, const T* outputs, const T* slopes, std::size_t count, T* g) {
  if (activation == Activation::relu)
    for (std::size_t i = 0; i < count; ++i) g[i] = outputs[i] > 0 ? g[i] : T{0};
  if (activation == Activation::gelu)
    for (std::size_t i = 0; i < count; ++i) g[i] *= slopes[i];
}

template <class T>
LOOP_BODY void sgd_loop(T rate, T momentum, std::size_t count, const T* g, T* velocity, T* values) {
  for (std::size_t i = 0; i < count; ++i) {
    velocity[i] = momentum * velocity[i] + g[i];
    values[i] -= rate * velocity[i];
  }
}

template <class T>
struct AdamFactors {
  T keep, beta1, rest1, beta2, rest2, rate, root2, epsilon;
};

template <class T>
LOOP_BODY void adamw_loop(const AdamFactors<T> f, std::size_t count, const T* g, T* first, T* second, T* values) {
  for (std::size_t i = 0; i < count; ++i) {
    first[i] = f.beta1 * first[i] + f.rest1 * g[i];
    second[i] = f.beta2 * second[i] + f.rest2 * g[i] * g[i];
    values[i] = f.keep * values[i] - f.rate * first[i] / (std::sqrt(second[i]) * f.root2 + f.epsilon);
  }
}

// target_clones takes no templates, so each loop has a float and a double door.
PER_ISA void run_activate(Activation a, const float* b, int f, int r, float* v, float* s) {
  activate_rows(a, b, f, r, v, s);
}
PER_ISA void run_activate(Activation a, const double* b, int f, int r, double* v, double* s) {
  activate_rows(a, b, f, r, v, s);
}
PER_ISA void run_backward(Activation a, const float* o, const float* s, std::size_t n, float* g) {
  backward_loop(a, o, s, n, g);
}
PER_ISA void run_backward(Activation a, const double* o, const double* s, std::size_t n, double* g) {
  backward_loop(a, o, s, n, g);
}
PER_ISA void run_sgd(float r, float m, std::size_t n, const float* g, float* u, float* v) {
  sgd_loop(r, m, n, g, u, v);
}
PER_ISA void run_sgd(double r, double m, std::size_t n, const double* g, double* u, double* v) {
  sgd_loop(r, m, n, g, u, v);
}
PER_ISA void run_adamw(const AdamFactors<float>& f, std::size_t n, const float* g, float* a, float* b, float* v) {
  adamw_loop(f, n, g, a, b, v);
}
PER_ISA void run_adamw(const AdamFactors<double>& f, std::size_t n, const double* g, double* a, double* b, double* v) {
  adamw_loop(f, n, g, a, b, v);
}
PER_ISA void run_standardise(const std::uint8_t* p, std::size_t n, float scale, float shift, float* v) {
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<float>(p[i]) * scale + shift;
}
PER_ISA void run_standardise(const std::uint8_t* p, std::size_t n, double scale, double shift, double* v) {
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<double>(p[i]) * scale + shift;
}

template <class T>
double mean_square(const T* x, std::size_t count, double scale, T* gradients) {
  double sum = 0;
  const T factor = static_cast<T>(2 * scale);
  for (std::size_t i = 0; i < count; ++i) {
    sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    gradients[i] = factor * x[i];
  }
  return sum * scale;
}

template <class T>
double cross_entropy(const T* x, const std::int32_t* labels, int classes, int rows, double scale, T* gradients) {
  double sum = 0;
  const auto stride = static_cast<std::size_t>(rows);
  for (int r = 0; r < rows; ++r) {
    const T* logits = x + r;
    T* g = gradients + r;
    T largest = logits[0];
    for (int c = 1; c < classes; ++c) largest = std::max(largest, logits[static_cast<std::size_t>(c) * stride]);
    T total = 0;
    for (int c = 0; c < classes; ++c) {
      const std::size_t at = static_cast<std::size_t>(c) * stride;
      g[at] = std::exp(logits[at] - largest);
      total += g[at];
    }
    const T factor = static_cast<T>(scale) / total;
    for (int c = 0; c < classes; ++c) g[static_cast<std::size_t>(c) * stride] *= factor;
    const std::size_t label = static_cast<std::size_t>(labels[r]) * stride;
    g[label] -= static_cast<T>(scale);
    sum += static_cast<double>(std::log(total)) + static_cast<double>(largest - logits[label]);
  }
  return sum * scale;
}

}  // namespace

template <class T>
void activate(Activation activation, const T* bias, int features, int rows, T* values, T* slopes) {
  run_activate(activation, bias, features, rows, values, slopes);
}

template <class T>
void activate_backward(Activation activation, const T* outputs, const T* slopes, std::size_t count, T* gradients) {
  run_backward(activation, outputs, slopes, count, gradients);
}

template <class T>
void sum_rows(const T* values, int features, int rows, bool accumulate, T* sums) {
  for (int f = 0; f < features; ++f, values += rows) {
    T lanes[16] = {};  // independent sums, so that the loop vectorises without reordering a single chain
    int i = 0;
    for (; i + 16 <= rows; i += 16)
      for (int j = 0; j < 16; ++j) lanes[j] += values[i + j];
    T sum = 0;
    for (T lane : lanes) sum += lane;
    for (; i < rows; ++i) sum += values[i];
    sums[f] = accumulate ? sums[f] + sum : sum;
  }
}

template <class T>
double loss(Loss kind, const T* outputs, const std::int32_t* labels, int features, int rows, double scale,
            T* gradients) {
  if (kind == Loss::cross_entropy) return cross_entropy(outputs, labels, features, rows, scale, gradients);
  return mean_square(outputs, static_cast<std::size_t>(features) * static_cast<std::size_t>(rows), scale, gradients);
}

template <class T>
std::int64_t correct(const T* outputs, const std::int32_t* labels, int features, int rows) {
  std::int64_t hits = 0;
  for (int r = 0; r < rows; ++r) {
    int best = 0;
    T largest = outputs[r];
    for (int f = 1; f < features; ++f) {
      const T x = outputs[static_cast<std::size_t>(f) * static_cast<std::size_t>(rows) + static_cast<std::size_t>(r)];
      if (x > largest) {
        largest = x;
        best = f;
      }
    }
    hits += best == labels[r];
  }
  return hits;
}

template <class T>
void sgd(const OptimizerSpec& spec, std::size_t count, const T* gradients, T* velocity, T* values) {
  run_sgd(static_cast<T>(spec.rate), static_cast<T>(spec.momentum), count, gradients, velocity, values);
}

template <class T>
void adamw(const OptimizerSpec& spec, int step, std::size_t count, const T* gradients, T* first, T* second, T* values) {
  // Bias corrections folded into two factors: m / (1 - b1^t) and sqrt(v / (1 - b2^t)).
  const double correct1 = 1 - std::pow(spec.beta1, step);
  const double correct2 = 1 - std::pow(spec.beta2, step);
  const AdamFactors<T> factors = {
      .keep = static_cast<T>(1 - spec.rate * spec.weight_decay),
      .beta1 = static_cast<T>(spec.beta1),
      .rest1 = static_cast<T>(1 - spec.beta1),
      .beta2 = static_cast<T>(spec.beta2),
      .rest2 = static_cast<T>(1 - spec.beta2),
      .rate = static_cast<T>(spec.rate / correct1),
      .root2 = static_cast<T>(1 / std::sqrt(correct2)),
      .epsilon = static_cast<T>(spec.epsilon),
  };
  run_adamw(factors, count, gradients, first, second, values);
}

template <class T>
void standardise(const std::uint8_t* pixels, std::size_t count, T scale, T shift, T* values) {
  run_standardise(pixels, count, scale, shift, values);
}

#define FOR_TYPE(T)                                                                     \
  template void activate<T>(Activation, const T*, int, int, T*, T*);                    \
  template void activate_backward<T>(Activation, const T*, const T*, std::size_t, T*);  \
  template void sum_rows<T>(const T*, int, int, bool, T*);                              \
  template double loss<T>(Loss, const T*, const std::int32_t*, int, int, double, T*);   \
  template std::int64_t correct<T>(const T*, const std::int32_t*, int, int);            \
  template void sgd<T>(const OptimizerSpec&, std::size_t, const T*, T*, T*);            \
  template void adamw<T>(const OptimizerSpec&, int, std::size_t, const T*, T*, T*, T*); \
  template void standardise<T>(const std::uint8_t*, std::size_t, T, T, T*);
FOR_TYPE(float)
FOR_TYPE(double)

}  // namespace tutti::trainers::maths
