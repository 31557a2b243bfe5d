// Starts the GPU's kernels behind Maths, each with the contract of the member of the same name. A stream is a
// cudaStream_t, a result a cudaError_t. Nothing of no elements is launched.
#pragma once
#include "trainers/arithmetic.hpp"

namespace tutti::trainers::kernels {

/// Numbers that reduce_* keep between their two kernels.
inline constexpr int kPartials = 256;

/// Loads every kernel.
int load();

template <class T>
int activate(Activation activation, const T* bias, int features, int rows, T* values, T* slopes, void* stream);
template <class T>
int activate_backward(Activation activation, const T* outputs, const T* slopes, std::size_t count, T* gradients,
                      void* stream);
template <class T>
int sum_rows(const T* values, int features, int rows, bool accumulate, T* sums, void* stream);
/// `partials` has kPartials elements.
template <class T>
int loss(Loss kind, const T* outputs, const std::int32_t* labels, int features, int rows, double scale, T* gradients,
         double* value, double* partials, void* stream);
template <class T>
int store(const double* value, T* to, void* stream);
template <class T>
int correct(const T* outputs, const std::int32_t* labels, int features, int rows, std::int64_t* hits, void* stream);
template <class T>
int sgd(const OptimizerSpec& spec, std::size_t count, const T* gradients, T* velocity, T* values, void* stream);
template <class T>
int adamw(const OptimizerSpec& spec, int step, std::size_t count, const T* gradients, T* first, T* second, T* values,
          void* stream);
template <class T>
int gather(const T* set, int features, const std::uint32_t* samples, int count, T* rows, void* stream);

}  // namespace tutti::trainers::kernels
