// Every loop over tensor elements that the trainers run, behind one interface: on the CPU OpenBLAS and loops, on a GPU
// cuBLAS and small kernels.
//
// Matrices are dense and row-major. Activations and their gradients are feature-major, [features][rows], so that a
// slice of features is contiguous. T is float or double. Pointers are to memory of device(), and what is enqueued runs
// in its order. Sums have a fixed order: the same arguments give the same bits in every run.
#pragma once
#include <cstdint>
#include <memory>

#include "trainers/device.hpp"
#include "trainers/spec.hpp"

namespace tutti::trainers {

enum class Operand : std::uint8_t { plain, transposed };

template <class T>
class Maths {
 public:
  Maths() = default;
  Maths(const Maths&) = delete;
  Maths& operator=(const Maths&) = delete;
  virtual ~Maths() = default;
  virtual Device& device() = 0;

  /// C[m][n] = A * B, or C += A * B if `accumulate`; A is [m][k] or, transposed, stored as [k][m]; B is [k][n] or
  /// [n][k].
  virtual void multiply(Operand a_is, Operand b_is, int m, int n, int k, const T* a, const T* b, bool accumulate,
                        T* c) = 0;

  /// Adds bias[f] (null: none) to values[f][rows] and applies the activation, in place. GELU, erf form, also stores its
  /// slope, which its backward pass needs; the others ignore `slopes`.
  virtual void activate(Activation activation, const T* bias, int features, int rows, T* values, T* slopes) = 0;

  /// Turns the gradient of the activation's output into that of its input, in place. `outputs` and `slopes` as activate
  /// left them.
  virtual void activate_backward(Activation activation, const T* outputs, const T* slopes, std::size_t count,
                                 T* gradients) = 0;

  /// sums[f] (+)= sum over rows of values[f][rows]: the gradient of a bias.
  virtual void sum_rows(const T* values, int features, int rows, bool accumulate, T* sums) = 0;

  /// *value += scale * (sum of the rows' losses), and its gradient. `labels` has one class per row (mean_square ignores
  /// it).
  virtual void loss(Loss kind, const T* outputs, const std::int32_t* labels, int features, int rows, double scale,
                    T* gradients, double* value) = 0;
  /// *to = *value.
  virtual void store(const double* value, T* to) = 0;

  /// *hits += rows whose largest output is the labelled class (the first of equals counts).
  virtual void correct(const T* outputs, const std::int32_t* labels, int features, int rows, std::int64_t* hits) = 0;

  /// velocity = momentum * velocity + gradient; value -= rate * velocity.
  virtual void sgd(const OptimizerSpec& spec, std::size_t count, const T* gradients, T* velocity, T* values) = 0;

  /// AdamW (Loshchilov, Hutter 2019); `step` counts from 1.
  virtual void adamw(const OptimizerSpec& spec, int step, std::size_t count, const T* gradients, T* first, T* second,
                     T* values) = 0;

  /// rows[i][features] = set[samples[i]][features].
  virtual void gather(const T* set, int features, const std::uint32_t* samples, int count, T* rows) = 0;
  /// labels[i] = set[samples[i]].
  virtual void gather_labels(const std::int32_t* set, const std::uint32_t* samples, int count,
                             std::int32_t* labels) = 0;
};

/// The maths of the CPU; there is one for all.
template <class T>
Maths<T>& host_maths();

/// The maths of the current GPU: of a session on GPUs the one that is this rank's. Throws ErrorCode::unsupported where
/// there is none, or no cuBLAS.
template <class T>
std::unique_ptr<Maths<T>> gpu_maths();

/// Tells CUDA to load kernels when a process first uses its GPU, not one by one: a load may wait for the kernels that
/// run, and one that waits for a peer may wait for ever. Before the process's first session.
void prepare_for_gpu();

}  // namespace tutti::trainers
