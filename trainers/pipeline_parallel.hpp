// Pipeline parallel: every rank is a stage with consecutive layers; micro-batches flow through and back.
//
//   stage s:  recv from s-1 -> forward -> send to s+1   ...   recv from s+1 -> backward -> send to s-1
//
// A schedule (schedule.hpp) says in which order; this file only carries it out. Gradients add up over the
// micro-batches, each already scaled by the rows of the whole batch, so nothing is rescaled. Per boundary and
// micro-batch one activation goes forward and one gradient back: b * width elements each.
#pragma once
#include <map>

#include "trainers/layer_stack.hpp"
#include "trainers/sending.hpp"
#include "trainers/trainer.hpp"

namespace tutti::trainers {

template <class T>
class PipelineTrainer final : public Trainer<T> {
 public:
  PipelineTrainer(Maths<T>& maths, const TrainerSpec& spec, Communicator& comm);
  std::int64_t correct(const Batch<T>& batch) override;

 protected:
  void enqueue_gradients(const Batch<T>& batch) override;
  double read_loss() override;

 private:
  /// Side orders of a GPU.
  static constexpr int kToNext = 0, kToPrevious = 1;

  /// A micro-batch on this stage, from its arrival to its backward pass.
  struct Slot {
    int micro_batch = -1;  // -1: free
    Pass<T> pass;
    Memory<T> input;             // [features][rows]; on the first stage [rows][features]
    Memory<T> result_gradients;  // [features][rows]
    Sending sending;             // of pass.result()
  };
  struct GradientBuffer {
    Memory<T> data;
    Sending sending;
  };
  /// A schedule for some number of micro-batches: this stage's part.
  using Actions = std::vector<Action>;

  const Actions& actions(int micro_batches, bool forward_only);
  void run(const Batch<T>& batch, bool forward_only);
  void carry_out(const Action& action, const Batch<T>& batch, bool forward_only);
  void forward(Slot& slot, const Batch<T>& batch);
  void backward(Slot& slot, const Batch<T>& batch);
  void send_activation(Slot& slot);
  Range rows_of(int micro_batch, int rows) const;
  Slot& take_slot(int micro_batch);
  Slot& slot_of(int micro_batch);
  bool is_first() const { return comm_.rank() == 0; }
  bool is_last() const { return comm_.rank() + 1 == comm_.size(); }
  int inputs() const { return this->parameters_->piece(0).inputs; }

  Communicator& comm_;
  int most_rows_;  // of a micro-batch
  Feed<T> feed_;
  LayerStack<T> stack_;
  std::map<std::pair<int, bool>, Actions> actions_;
  std::vector<Slot> slots_;
  GradientBuffer to_previous_[2];  // in turn: one is computed while the other may still be on its way
  int turn_ = 0;
  Memory<std::int32_t> labels_;
  Memory<double> loss_;
  Memory<std::int64_t> hits_;

  int micro_batches_ = 0;  // of the batch at hand
  bool accumulate_ = false;
};

}  // namespace tutti::trainers
