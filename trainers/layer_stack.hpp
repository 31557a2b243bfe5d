// Consecutive whole layers on one rank: what the serial, data-parallel and pipeline trainers compute with.
#pragma once
#include <vector>

#include "trainers/maths.hpp"
#include "trainers/parameters.hpp"

namespace tutti::trainers {

/// Of activations [features][rows].
inline std::size_t elements(int features, int rows) {
  return static_cast<std::size_t>(features) * static_cast<std::size_t>(rows);
}

/// Rows that enter a layer: samples as they come, [rows][features], or activations, [features][rows].
template <class T>
struct Input {
  const T* data = nullptr;
  bool sample_major = true;
};

/// outputs[out][rows] = W * input, without bias and activation.
template <class T>
void multiply_forward(Maths<T>& maths, const T* weights, int outputs, int inputs, Input<T> input, int rows, T* result) {
  maths.multiply(Operand::plain, input.sample_major ? Operand::transposed : Operand::plain, outputs, rows, inputs,
                 weights, input.data, false, result);
}

/// dW[out][in] (+)= gradients[out][rows] * input^T.
template <class T>
void multiply_weight_gradient(Maths<T>& maths, const T* gradients, int outputs, int inputs, Input<T> input, int rows,
                              bool accumulate, T* result) {
  maths.multiply(Operand::plain, input.sample_major ? Operand::plain : Operand::transposed, outputs, inputs, rows,
                 gradients, input.data, accumulate, result);
}

/// d(input)[in][rows] = W^T * gradients[out][rows].
template <class T>
void multiply_input_gradient(Maths<T>& maths, const T* weights, int outputs, int inputs, const T* gradients, int rows,
                             T* result) {
  maths.multiply(Operand::transposed, Operand::plain, inputs, rows, outputs, weights, gradients, false, result);
}

/// What the forward pass of some rows leaves for their backward pass.
template <class T>
struct Pass {
  Input<T> input;
  int rows = 0;
  std::vector<Memory<T>> outputs;  ///< per piece [out][rows], after the activation
  std::vector<Memory<T>> slopes;   ///< of GELU; else empty

  const T* result() const { return outputs.back().data(); }
};

/// Forward and backward over all pieces of `parameters`, none of them cut.
template <class T>
class LayerStack {
 public:
  /// `maths` and `parameters` must outlive the stack.
  LayerStack(Maths<T>& maths, Parameters<T>& parameters, int max_rows);

  Pass<T> make_pass() const;
  /// Output features of the last layer.
  int features() const { return parameters_->piece(parameters_->pieces() - 1).width; }

  /// Computes pass.outputs from `input`, which must stay until the backward pass. No rows are legal.
  void forward(Pass<T>& pass, Input<T> input, int rows);
  /// Turns the gradient of the result, [features()][rows], which is overwritten, into the parameters' gradients, added
  /// to what is there if `accumulate`, and, unless null, into the gradient of the input, [in][rows].
  void backward(const Pass<T>& pass, bool accumulate, T* result_gradients, T* input_gradients);

 private:
  Maths<T>& maths_;
  Parameters<T>* parameters_;
  int max_rows_;
  Memory<T> scratch_[2];
};

}  // namespace tutti::trainers
