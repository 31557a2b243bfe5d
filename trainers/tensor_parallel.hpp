// Tensor parallel, the lecture's column cut: every rank holds a slice of each layer's outputs and all rows.
//
//   forward, layer l:   Y[mine] = act(W[mine] X + b[mine])        all-gather into Y (feature-major: no copy)
//   backward, layer l:  G = d(Y)[mine];  dW = G X^T;  dX = W[mine]^T G is this rank's part of a sum over ranks
//     layer l-1 cut:        reduce-scatter of dX: each rank gets the slice that it needs
//     layer l-1 replicated: all-reduce of dX
//   A layer whose width does not divide is replicated: every rank computes all of it, its dX is already complete, and a
//   cut layer before it takes its slice of dX without communication (a reduce-scatter there would count it n times).
//
// Bytes per rank: each cut layer (n-1)/n * B * width forward; backward (n-1)/n * B * inputs, twice that before a
// replicated layer; nothing for the first layer, whose input needs no gradient. The loss is computed by every rank.
#pragma once
#include "trainers/layer_stack.hpp"
#include "trainers/trainer.hpp"

namespace tutti::trainers {

template <class T>
class TensorParallelTrainer final : public Trainer<T> {
 public:
  TensorParallelTrainer(Maths<T>& maths, const TrainerSpec& spec, Communicator& comm);
  std::int64_t correct(const Batch<T>& batch) override;

 protected:
  void enqueue_gradients(const Batch<T>& batch) override;
  double read_loss() override { return this->download(loss_.data()); }

 private:
  void forward(const Batch<T>& batch);
  /// Turns the gradient of the last layer's full output into the parameters' gradients.
  void backward(int rows);
  /// Given this rank's contribution to d(input of piece i), [inputs][rows], returns where piece i-1 finds d(its
  /// outputs).
  T* gradients_for_previous(int i, T* input_gradients, int rows);
  const T* result() const { return outputs_.back().data(); }
  int features() const { return this->spec_.mlp.widths.back(); }

  Communicator& comm_;
  Feed<T> feed_;
  Memory<T> inputs_;
  Memory<std::int32_t> labels_;
  std::vector<Memory<T>> outputs_;  // per piece: the gathered [width][rows]
  std::vector<Memory<T>> slopes_;   // per piece: of its own outputs
  Memory<T> gradients_[2];          // of outputs, [width][rows], in turn
  Memory<double> loss_;
  Memory<std::int64_t> hits_;
};

}  // namespace tutti::trainers
