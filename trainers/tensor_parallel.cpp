#include "trainers/tensor_parallel.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tutti::trainers {
template <class T>
TensorParallelTrainer<T>::TensorParallelTrainer(Maths<T>& maths, const TrainerSpec& spec, Communicator& comm)
    : Trainer<T>(
          maths, spec, pieces_of(spec.mlp, Parallel::tensor, comm.rank(), comm.size()),
          Memory<T>(maths.device(), parameters_of(pieces_of(spec.mlp, Parallel::tensor, comm.rank(), comm.size())))),
      comm_(comm),
      feed_(maths, spec.batch),
      inputs_(maths.device(), elements(spec.mlp.widths.front(), spec.batch)),
      labels_(maths.device(), static_cast<std::size_t>(spec.batch)),
      loss_(maths.device(), 1),
      hits_(maths.device(), 1) {
  for (int i = 0; i < this->parameters_->pieces(); ++i) {
    const Piece& piece = this->parameters_->piece(i);
    outputs_.emplace_back(comm, elements(piece.width, spec.batch));
    slopes_.emplace_back(maths.device(),
                         piece.activation == Activation::gelu ? elements(piece.outputs.size(), spec.batch) : 0);
  }
  const int widest = *std::max_element(spec.mlp.widths.begin() + 1, spec.mlp.widths.end());
  for (auto& buffer : gradients_) buffer = Memory<T>(comm, elements(widest, spec.batch));
}

template <class T>
void TensorParallelTrainer<T>::forward(const Batch<T>& batch) {
  feed_.read(*batch.data, batch.samples, inputs_.data());
  feed_.read_labels(*batch.data, batch.samples, labels_.data());
  Input<T> input{inputs_.data(), true};
  const int rows = batch.rows();
  for (int i = 0; i < this->parameters_->pieces(); ++i) {
    const Piece& piece = this->parameters_->piece(i);
    const auto at = static_cast<std::size_t>(i);
    T* all = outputs_[at].data();
    T* mine = all + elements(piece.outputs.begin, rows);
    multiply_forward(this->maths_, this->parameters_->weights(i), piece.outputs.size(), piece.inputs, input, rows,
                     mine);
    this->maths_.activate(piece.activation, this->parameters_->bias(i), piece.outputs.size(), rows, mine,
                          slopes_[at].data());
    if (piece.is_cut()) comm_.all_gather(mine, all, elements(piece.outputs.size(), rows), this->options());
    if (this->spec_.trace)
      this->spec_.trace(fmt::format("layer {}: {}", piece.layer, summary(this->device(), rows, piece.width, all)));
    input = {all, false};
  }
}

template <class T>
T* TensorParallelTrainer<T>::gradients_for_previous(int i, T* input_gradients, int rows) {
  const Piece& previous = this->parameters_->piece(i - 1);
  T* mine = input_gradients + elements(previous.outputs.begin, rows);
  if (!this->parameters_->piece(i).is_cut()) return mine;
  if (previous.is_cut()) {
    comm_.reduce_scatter(input_gradients, mine, elements(previous.outputs.size(), rows), ReduceOp::sum,
                         this->options());
  } else {
    comm_.all_reduce(input_gradients, input_gradients, elements(previous.width, rows), ReduceOp::sum, this->options());
  }
  return mine;
}

template <class T>
void TensorParallelTrainer<T>::backward(int rows) {
  const int last = this->parameters_->pieces() - 1;
  // The loss is replicated, so its gradient is complete on every rank: the last layer takes its slice.
  T* gradients = gradients_[last % 2].data() + elements(this->parameters_->piece(last).outputs.begin, rows);
  for (int i = last; i >= 0; --i) {
    const Piece& piece = this->parameters_->piece(i);
    const auto at = static_cast<std::size_t>(i);
    const int outputs = piece.outputs.size();
    this->maths_.activate_backward(piece.activation, outputs_[at].data() + elements(piece.outputs.begin, rows),
                                   slopes_[at].data(), elements(outputs, rows), gradients);
    const Input<T> input = i > 0 ? Input<T>{outputs_[at - 1].data(), false} : Input<T>{inputs_.data(), true};
    multiply_weight_gradient(this->maths_, gradients, outputs, piece.inputs, input, rows, false,
                             this->parameters_->weight_gradients(i));
    if (piece.bias) this->maths_.sum_rows(gradients, outputs, rows, false, this->parameters_->bias_gradients(i));
    if (i == 0) break;
    T* into = gradients_[(i - 1) % 2].data();
    multiply_input_gradient(this->maths_, this->parameters_->weights(i), outputs, piece.inputs, gradients, rows, into);
    gradients = gradients_for_previous(i, into, rows);
  }
}

template <class T>
void TensorParallelTrainer<T>::enqueue_gradients(const Batch<T>& batch) {
  forward(batch);
  const int last = this->parameters_->pieces() - 1;
  this->device().zero(loss_.data(), sizeof(double));
  this->maths_.loss(this->spec_.loss, result(), labels_.data(), features(), batch.rows(),
                    loss_scale(this->spec_.loss, batch.rows(), features()), gradients_[last % 2].data(), loss_.data());
  backward(batch.rows());
}

template <class T>
std::int64_t TensorParallelTrainer<T>::correct(const Batch<T>& batch) {
  forward(batch);
  this->device().zero(hits_.data(), sizeof(std::int64_t));
  this->maths_.correct(result(), labels_.data(), features(), batch.rows(), hits_.data());
  return this->download(hits_.data());
}

template class TensorParallelTrainer<float>;
template class TensorParallelTrainer<double>;

}  // namespace tutti::trainers
