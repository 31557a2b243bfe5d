// The elementwise part of maths_host.hpp.
#include "trainers/arithmetic.hpp"
#include "trainers/maths_host.hpp"

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

template <class T>
LOOP_BODY void activate_row(Activation activation, T bias, int rows, T* values, T* slopes) {
  switch (activation) {
    case Activation::none:
      for (int i = 0; i < rows; ++i) values[i] += bias;
      break;
    case Activation::relu:
      for (int i = 0; i < rows; ++i) values[i] = arithmetic::relu(values[i] + bias);
      break;
    case Activation::gelu:
      for (int i = 0; i < rows; ++i) {
        T x = values[i] + bias;
        arithmetic::gelu(x, slopes[i]);
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
    for (std::size_t i = 0; i < count; ++i) g[i] = arithmetic::relu_backward(outputs[i], g[i]);
  if (activation == Activation::gelu)
    for (std::size_t i = 0; i < count; ++i) g[i] *= slopes[i];
}

template <class T>
LOOP_BODY void sgd_loop(T rate, T momentum, std::size_t count, const T* g, T* velocity, T* values) {
  for (std::size_t i = 0; i < count; ++i) arithmetic::sgd(rate, momentum, g[i], velocity[i], values[i]);
}

template <class T>
LOOP_BODY void adamw_loop(const arithmetic::AdamFactors<T> f, std::size_t count, const T* g, T* first, T* second,
                          T* values) {
  for (std::size_t i = 0; i < count; ++i) arithmetic::adamw(f, g[i], first[i], second[i], values[i]);
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
PER_ISA void run_adamw(const arithmetic::AdamFactors<float>& f, std::size_t n, const float* g, float* a, float* b,
                       float* v) {
  adamw_loop(f, n, g, a, b, v);
}
PER_ISA void run_adamw(const arithmetic::AdamFactors<double>& f, std::size_t n, const double* g, double* a, double* b,
                       double* v) {
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
  for (int r = 0; r < rows; ++r)
    sum += arithmetic::cross_entropy(x + r, labels[r], classes, static_cast<std::size_t>(rows), static_cast<T>(scale),
                                     gradients + r);
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
    T lanes[arithmetic::kRowSums] = {};
    int i = 0;
    for (; i + arithmetic::kRowSums <= rows; i += arithmetic::kRowSums)
      for (int j = 0; j < arithmetic::kRowSums; ++j) lanes[j] += values[i + j];
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
  for (int r = 0; r < rows; ++r)
    hits += arithmetic::answer(outputs + r, features, static_cast<std::size_t>(rows)) == labels[r];
  return hits;
}

template <class T>
void sgd(const OptimizerSpec& spec, std::size_t count, const T* gradients, T* velocity, T* values) {
  run_sgd(static_cast<T>(spec.rate), static_cast<T>(spec.momentum), count, gradients, velocity, values);
}

template <class T>
void adamw(const OptimizerSpec& spec, int step, std::size_t count, const T* gradients, T* first, T* second, T* values) {
  run_adamw({spec, step}, count, gradients, first, second, values);
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
