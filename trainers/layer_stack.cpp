#include "trainers/layer_stack.hpp"

#include <algorithm>

namespace tutti::trainers {
template <class T>
LayerStack<T>::LayerStack(Maths<T>& maths, Parameters<T>& parameters, int max_rows)
    : maths_(maths), parameters_(&parameters), max_rows_(max_rows) {
  int widest = 0;
  for (int i = 0; i < parameters.pieces(); ++i) widest = std::max(widest, parameters.piece(i).width);
  for (auto& buffer : scratch_) buffer = Memory<T>(maths.device(), elements(widest, max_rows));
}

template <class T>
Pass<T> LayerStack<T>::make_pass() const {
  Pass<T> pass;
  for (int i = 0; i < parameters_->pieces(); ++i) {
    const Piece& piece = parameters_->piece(i);
    pass.outputs.emplace_back(maths_.device(), elements(piece.width, max_rows_));
    pass.slopes.emplace_back(maths_.device(),
                             piece.activation == Activation::gelu ? elements(piece.width, max_rows_) : 0);
  }
  return pass;
}

template <class T>
void LayerStack<T>::forward(Pass<T>& pass, Input<T> input, int rows) {
  pass.input = input;
  pass.rows = rows;
  for (int i = 0; i < parameters_->pieces(); ++i) {
    const Piece& piece = parameters_->piece(i);
    const auto at = static_cast<std::size_t>(i);
    T* outputs = pass.outputs[at].data();
    multiply_forward(maths_, parameters_->weights(i), piece.width, piece.inputs, input, rows, outputs);
    maths_.activate(piece.activation, parameters_->bias(i), piece.width, rows, outputs, pass.slopes[at].data());
    input = {outputs, false};
  }
}

template <class T>
void LayerStack<T>::backward(const Pass<T>& pass, bool accumulate, T* result_gradients, T* input_gradients) {
  T* gradients = result_gradients;
  for (int i = parameters_->pieces() - 1; i >= 0; --i) {
    const Piece& piece = parameters_->piece(i);
    const auto at = static_cast<std::size_t>(i);
    const Input<T> input = i > 0 ? Input<T>{pass.outputs[at - 1].data(), false} : pass.input;
    maths_.activate_backward(piece.activation, pass.outputs[at].data(), pass.slopes[at].data(),
                             elements(piece.width, pass.rows), gradients);
    multiply_weight_gradient(maths_, gradients, piece.width, piece.inputs, input, pass.rows, accumulate,
                             parameters_->weight_gradients(i));
    if (piece.bias) maths_.sum_rows(gradients, piece.width, pass.rows, accumulate, parameters_->bias_gradients(i));
    T* into = i > 0 ? scratch_[i % 2].data() : input_gradients;
    if (into)
      multiply_input_gradient(maths_, parameters_->weights(i), piece.width, piece.inputs, gradients, pass.rows, into);
    gradients = into;
  }
}

template class LayerStack<float>;
template class LayerStack<double>;

}  // namespace tutti::trainers
