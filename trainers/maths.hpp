// Every loop over tensor elements that the trainers run: OpenBLAS and loops for the CPU behind one interface.
//
// Matrices are dense and row-major. Activations and their gradients are feature-major, [features][rows], so that a
// slice of features is contiguous. T is float or double.
#pragma once
#include <cstddef>
#include <cstdint>

#include "trainers/spec.hpp"

namespace tutti::trainers::maths {

/// Gives each rank of this machine its share of the cores: one BLAS thread where ranks fill them.
/// OPENBLAS_NUM_THREADS, if set, wins.
void share_cores(int ranks_here);
/// Fixes the number of BLAS threads of this process.
void set_threads(int threads);

enum class Operand : std::uint8_t { plain, transposed };

/// C[m][n] = A * B, or C += A * B if `accumulate`; A is [m][k] or, transposed, stored as [k][m]; B is [k][n] or [n][k].
template <class T>
void multiply(Operand a_is, Operand b_is, int m, int n, int k, const T* a, const T* b, bool accumulate, T* c);

/// Adds bias[f] (null: none) to values[f][rows] and applies the activation, in place. GELU, erf form, also stores its
/// slope, which its backward pass needs; the others ignore `slopes`.
template <class T>
void activate(Activation activation, const T* bias, int features, int rows, T* values, T* slopes);

/// Turns the gradient of the activation's output into that of its input, in place. `outputs` and `slopes` as activate
/// left them.
template <class T>
void activate_backward(Activation activation, const T* outputs, const T* slopes, std::size_t count, T* gradients);

/// sums[f] (+)= sum over rows of values[f][rows]: the gradient of a bias.
template <class T>
void sum_rows(const T* values, int features, int rows, bool accumulate, T* sums);

/// scale * (sum of the rows' losses), and its gradient. `labels` has one class per row (mean_square ignores it).
template <class T>
double loss(Loss kind, const T* outputs, const std::int32_t* labels, int features, int rows, double scale,
            T* gradients);

/// Rows whose largest output is the labelled class (the first of equals counts).
template <class T>
std::int64_t correct(const T* outputs, const std::int32_t* labels, int features, int rows);

/// velocity = momentum * velocity + gradient; value -= rate * velocity.
template <class T>
void sgd(const OptimizerSpec& spec, std::size_t count, const T* gradients, T* velocity, T* values);

/// AdamW (Loshchilov, Hutter 2019); `step` counts from 1.
template <class T>
void adamw(const OptimizerSpec& spec, int step, std::size_t count, const T* gradients, T* first, T* second, T* values);

/// values[i] = pixels[i] * scale + shift.
template <class T>
void standardise(const std::uint8_t* pixels, std::size_t count, T scale, T shift, T* values);

}  // namespace tutti::trainers::maths
