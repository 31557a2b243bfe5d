// What every layout of training offers: one optimizer step over a global batch, and evaluation.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "collectives/tutti.hpp"
#include "trainers/feed.hpp"
#include "trainers/optimizer.hpp"
#include "trainers/parameters.hpp"
#include "trainers/schedule.hpp"
#include "trainers/spec.hpp"

namespace tutti::trainers {

/// Everything that fixes the numbers of a training run. Equal on all ranks.
struct TrainerSpec {
  MlpSpec mlp{};
  Loss loss = Loss::cross_entropy;
  OptimizerSpec optimizer{};
  std::uint64_t seed = 0;
  int batch = 128;        ///< most rows of a global batch; it stays global when the number of ranks changes
  int micro_batches = 4;  ///< pipeline
  ScheduleKind schedule = ScheduleKind::one_f_one_b;  ///< pipeline
  std::function<void(const std::string&)> trace{};    ///< if set: told what this rank sends and computes
};

/// The rows of one global batch; every rank passes the same, and reads only what it needs.
template <class T>
struct Batch {
  const DataSet<T>* data = nullptr;
  std::span<const std::uint32_t> samples;
  int rows() const { return static_cast<int>(samples.size()); }
};

/// One rank's part of a training run. All ranks construct it, and call step and correct, with equal arguments.
///
/// On a GPU a step is enqueued as a whole, messages among it; the host waits once, for the loss at its end.
template <class T>
class Trainer {
 public:
  virtual ~Trainer() = default;
  /// One step; returns the batch's mean loss before it: on rank 0, elsewhere the same or NaN where it is not known.
  double step(const Batch<T>& batch) {
    enqueue_gradients(batch);
    update();
    return read_loss();
  }
  /// The first half of a step: leaves in parameters() the gradients of the mean loss over the whole batch, and returns
  /// that loss as step does.
  double compute_gradients(const Batch<T>& batch) {
    enqueue_gradients(batch);
    return read_loss();
  }
  /// The second half: this rank's optimizer over this rank's parameters.
  void update() { optimizer_->step(*parameters_); }
  /// The learning rate of the steps from now on, in place of the spec's.
  void set_rate(double rate) { optimizer_->set_rate(rate); }
  /// Rows of the batch that the model classifies correctly, counted over all ranks, known on all.
  virtual std::int64_t correct(const Batch<T>& batch) = 0;
  Parameters<T>& parameters() { return *parameters_; }

 protected:
  Trainer(Maths<T>& maths, const TrainerSpec& spec, std::vector<Piece> pieces, Memory<T> gradients)
      : maths_(maths),
        spec_(spec),
        parameters_(std::make_unique<Parameters<T>>(maths.device(), spec.mlp, std::move(pieces), spec.seed,
                                                    std::move(gradients))),
        optimizer_(std::make_unique<Optimizer<T>>(maths, spec.optimizer, parameters_->count())) {}

  virtual void enqueue_gradients(const Batch<T>& batch) = 0;
  /// The loss of the last enqueue_gradients. Returns when everything enqueued has ended.
  virtual double read_loss() = 0;

  Device& device() { return maths_.device(); }
  /// Of collectives on the device's memory.
  Options options() { return device().options(); }
  template <class Number>
  Number download(const Number* from) {
    Number number;
    device().download(&number, from, sizeof number);
    return number;
  }

  Maths<T>& maths_;
  TrainerSpec spec_;
  std::unique_ptr<Parameters<T>> parameters_;
  std::unique_ptr<Optimizer<T>> optimizer_;
};

/// The trainer of a layout. `comm` may be null for serial only. Collective otherwise. `maths` is the host's, or if the
/// session is on a GPU the GPU's, and must outlive the trainer.
template <class T>
std::unique_ptr<Trainer<T>> make_trainer(Parallel layout, Maths<T>& maths, const TrainerSpec& spec, Communicator* comm);

/// "32x1024[-0.0603...]": rows, features and the first value of an activation. Waits for the device.
template <class T>
std::string summary(Device& device, int rows, int features, const T* values);

}  // namespace tutti::trainers
