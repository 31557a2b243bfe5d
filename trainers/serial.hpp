// The trainer without any communication: the oracle that every layout is compared to.
#pragma once
#include "trainers/layer_stack.hpp"
#include "trainers/trainer.hpp"

namespace tutti::trainers {

template <class T>
class SerialTrainer final : public Trainer<T> {
 public:
  SerialTrainer(Maths<T>& maths, const TrainerSpec& spec);
  std::int64_t correct(const Batch<T>& batch) override;

 protected:
  void enqueue_gradients(const Batch<T>& batch) override;
  double read_loss() override { return this->download(loss_.data()); }

 private:
  void forward(const Batch<T>& batch);

  Feed<T> feed_;
  LayerStack<T> stack_;
  Pass<T> pass_;
  Memory<T> inputs_;
  Memory<std::int32_t> labels_;
  Memory<T> result_gradients_;
  Memory<double> loss_;
  Memory<std::int64_t> hits_;
};

}  // namespace tutti::trainers
