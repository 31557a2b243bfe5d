// The trainer without any communication: the oracle that every layout is compared to.
#pragma once
#include "trainers/layer_stack.hpp"
#include "trainers/trainer.hpp"

namespace tutti::trainers {

template <class T>
class SerialTrainer final : public Trainer<T> {
 public:
  explicit SerialTrainer(const TrainerSpec& spec);
  double compute_gradients(const Batch<T>& batch) override;
  std::int64_t correct(const Batch<T>& batch) override;

 private:
  void forward(const Batch<T>& batch);

  LayerStack<T> stack_;
  Pass<T> pass_;
  std::vector<T> inputs_;
  std::vector<std::int32_t> labels_;
  std::vector<T> result_gradients_;
};

}  // namespace tutti::trainers
