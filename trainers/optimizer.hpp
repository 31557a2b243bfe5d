// The update of a flat array of parameters from their gradients.
#pragma once
#include "trainers/maths.hpp"
#include "trainers/parameters.hpp"

namespace tutti::trainers {

/// SGD with momentum, or AdamW, over the parameters of one rank.
template <class T>
class Optimizer {
 public:
  /// `maths` must outlive the optimizer.
  Optimizer(Maths<T>& maths, const OptimizerSpec& spec, std::size_t count)
      : maths_(maths),
        spec_(spec),
        first_(maths.device(), count),
        second_(maths.device(), spec.kind == OptimizerKind::adamw ? count : 0) {}

  /// Of the steps from now on.
  void set_rate(double rate) { spec_.rate = rate; }

  void step(Parameters<T>& parameters) {
    ++steps_;
    if (spec_.kind == OptimizerKind::adamw)
      maths_.adamw(spec_, steps_, parameters.count(), parameters.gradients(), first_.data(), second_.data(),
                   parameters.values());
    else
      maths_.sgd(spec_, parameters.count(), parameters.gradients(), first_.data(), parameters.values());
  }

 private:
  Maths<T>& maths_;
  OptimizerSpec spec_;
  int steps_ = 0;
  Memory<T> first_;   // momentum; AdamW's first moment
  Memory<T> second_;  // AdamW's second moment
};

/// Elements of state per parameter.
inline int optimizer_states(OptimizerKind kind) { return kind == OptimizerKind::adamw ? 2 : 1; }

}  // namespace tutti::trainers
