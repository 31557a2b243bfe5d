// The loops behind the CPU's Maths, each with the contract of the member of the same name, on memory that it may
// follow.
#pragma once
#include "trainers/maths.hpp"

namespace tutti::trainers::maths {

/// Gives each rank of this machine its share of the cores: one BLAS thread where ranks fill them.
/// OPENBLAS_NUM_THREADS, if set, wins.
void share_cores(int ranks_here);
/// Fixes the number of BLAS threads of this process.
void set_threads(int threads);

template <class T>
void multiply(Operand a_is, Operand b_is, int m, int n, int k, const T* a, const T* b, bool accumulate, T* c);
template <class T>
void activate(Activation activation, const T* bias, int features, int rows, T* values, T* slopes);
template <class T>
void activate_backward(Activation activation, const T* outputs, const T* slopes, std::size_t count, T* gradients);
template <class T>
void sum_rows(const T* values, int features, int rows, bool accumulate, T* sums);
/// Returns what Maths::loss adds to *value.
template <class T>
double loss(Loss kind, const T* outputs, const std::int32_t* labels, int features, int rows, double scale,
            T* gradients);
/// Returns what Maths::correct adds to *hits.
template <class T>
std::int64_t correct(const T* outputs, const std::int32_t* labels, int features, int rows);
template <class T>
void sgd(const OptimizerSpec& spec, std::size_t count, const T* gradients, T* velocity, T* values);
template <class T>
void adamw(const OptimizerSpec& spec, int step, std::size_t count, const T* gradients, T* first, T* second, T* values);

/// values[i] = pixels[i] * scale + shift.
template <class T>
void standardise(const std::uint8_t* pixels, std::size_t count, T scale, T shift, T* values);

}  // namespace tutti::trainers::maths
