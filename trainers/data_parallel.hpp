// Data parallel: every rank holds the whole model and a share of the rows; gradients are all-reduced.
//
//   rank r, rows [r*B/n, (r+1)*B/n):  forward, backward as if alone  ->  all-reduce gradients  ->  own optimizer
//
// Gradients and the loss are one flat array that peers reach directly, so a step has one all-reduce:
// 2(n-1)/n * (parameters + 1) elements per rank. Scale, applied once: where the rows divide, each rank has the gradient
// of its own mean and the all-reduce averages; otherwise each has local sum / global rows and the all-reduce sums.
// One all-reduce, not one per bucket of layers beside the backward pass: tried at 2 ranks on 2 cores, starting the last
// layers' early gained nothing over waiting for it at once, since no core is idle meanwhile.
#pragma once
#include "trainers/layer_stack.hpp"
#include "trainers/trainer.hpp"

namespace tutti::trainers {

template <class T>
class DataParallelTrainer final : public Trainer<T> {
 public:
  DataParallelTrainer(Maths<T>& maths, const TrainerSpec& spec, Communicator& comm);
  std::int64_t correct(const Batch<T>& batch) override;

  /// The backward pass of this rank's rows, before any communication; returns this rank's share of the loss.
  double compute_local_gradients(const Batch<T>& batch);

 protected:
  void enqueue_gradients(const Batch<T>& batch) override;
  double read_loss() override;

 private:
  void enqueue_local_gradients(const Batch<T>& batch);
  /// The one added line: all-reduces gradients and loss of a batch of `rows` rows.
  void synchronise(int rows);
  Range rows_of(int rows) const { return part_of(rows, comm_.rank(), comm_.size()); }
  bool divides(int rows) const { return rows % comm_.size() == 0; }
  void forward(const Batch<T>& batch);

  Communicator& comm_;
  Feed<T> feed_;
  LayerStack<T> stack_;
  Pass<T> pass_;
  Memory<T> inputs_;
  Memory<std::int32_t> labels_;
  Memory<T> result_gradients_;
  Memory<double> loss_;  // of this rank's rows
  Memory<std::int64_t> hits_;
};

}  // namespace tutti::trainers
