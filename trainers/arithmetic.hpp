// What the trainers' loops do to one element: the same source for the CPU's loops and the GPU's kernels, which neither
// contracts a * b + c, so that both give the same bits wherever only +, -, *, / and sqrt are involved.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numbers>

#include "collectives/tutti.hpp"
#include "trainers/spec.hpp"

namespace tutti::trainers::arithmetic {

TUTTI_HD std::int32_t bits_of(float x) {
  std::int32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
TUTTI_HD float float_of(std::int32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/// exp(x) for x <= 0 to 2 ulp or so, without branches or calls, so that loops around it vectorise.
TUTTI_HD float exp_of_negative(float x) {
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
  return p * float_of((bits_of(shifted) - bits_of(round_to_int) + 127) << 23);
}

/// x * Phi(x) and its slope Phi(x) + x * phi(x). f32: erf by Abramowitz and Stegun 7.1.26 (error below 1.5e-7), whose
/// exp is phi's too.
TUTTI_HD void gelu(float& value, float& slope) {
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
TUTTI_HD void gelu(double& value, double& slope) {
  const double x = value;
  const double phi_sum = 0.5 * std::erfc(-x * std::numbers::sqrt2 / 2);
  value = x * phi_sum;
  slope = phi_sum + x * std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
}

/// max(x, 0), written so that NaN stays NaN: a diverged run must show.
template <class T>
TUTTI_HD T relu(T x) {
  return x < 0 ? T{0} : x;
}
template <class T>
TUTTI_HD T relu_backward(T output, T gradient) {
  return output > 0 ? gradient : T{0};
}

/// How many sums a row is added up in, which are independent, so that the loop vectorises: element i goes to sum
/// i % kRowSums, those are added in order, and what is left of the row, less than kRowSums elements, after them.
inline constexpr int kRowSums = 16;

template <class T>
TUTTI_HD void sgd(T rate, T momentum, T gradient, T& velocity, T& value) {
  velocity = momentum * velocity + gradient;
  value -= rate * velocity;
}

/// AdamW of one step, with the bias corrections m / (1 - b1^t) and sqrt(v / (1 - b2^t)) folded into two factors.
template <class T>
struct AdamFactors {
  AdamFactors(const OptimizerSpec& spec, int step)
      : keep(static_cast<T>(1 - spec.rate * spec.weight_decay)),
        beta1(static_cast<T>(spec.beta1)),
        rest1(static_cast<T>(1 - spec.beta1)),
        beta2(static_cast<T>(spec.beta2)),
        rest2(static_cast<T>(1 - spec.beta2)),
        rate(static_cast<T>(spec.rate / (1 - std::pow(spec.beta1, step)))),
        root2(static_cast<T>(1 / std::sqrt(1 - std::pow(spec.beta2, step)))),
        epsilon(static_cast<T>(spec.epsilon)) {}
  T keep, beta1, rest1, beta2, rest2, rate, root2, epsilon;
};
template <class T>
TUTTI_HD void adamw(const AdamFactors<T>& f, T gradient, T& first, T& second, T& value) {
  first = f.beta1 * first + f.rest1 * gradient;
  second = f.beta2 * second + f.rest2 * gradient * gradient;
  value = f.keep * value - f.rate * first / (std::sqrt(second) * f.root2 + f.epsilon);
}

/// One row's cross-entropy, of logits[c * stride], and what it adds to the gradients of `scale` times the sum.
template <class T>
TUTTI_HD double cross_entropy(const T* logits, int label, int classes, std::size_t stride, T scale, T* gradients) {
  T largest = logits[0];
  for (int c = 1; c < classes; ++c) {
    const T x = logits[static_cast<std::size_t>(c) * stride];
    largest = largest < x ? x : largest;
  }
  T total = 0;
  for (int c = 0; c < classes; ++c) {
    const std::size_t at = static_cast<std::size_t>(c) * stride;
    gradients[at] = std::exp(logits[at] - largest);
    total += gradients[at];
  }
  const T factor = scale / total;
  for (int c = 0; c < classes; ++c) gradients[static_cast<std::size_t>(c) * stride] *= factor;
  const std::size_t at = static_cast<std::size_t>(label) * stride;
  gradients[at] -= scale;
  return static_cast<double>(std::log(total)) + static_cast<double>(largest - logits[at]);
}

/// The class of a row's largest output, the first of equals.
template <class T>
TUTTI_HD int answer(const T* outputs, int classes, std::size_t stride) {
  int best = 0;
  T largest = outputs[0];
  for (int c = 1; c < classes; ++c) {
    const T x = outputs[static_cast<std::size_t>(c) * stride];
    if (x > largest) {
      largest = x;
      best = c;
    }
  }
  return best;
}

}  // namespace tutti::trainers::arithmetic
