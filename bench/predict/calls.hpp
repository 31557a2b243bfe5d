// The calls of a question: which kernel, on how many blocks, in which arenas; decided as the library decides.
#pragma once
#include "bench/predict/prediction.hpp"
#include "collectives/choose.hpp"
#include "kernels/timed.hpp"

namespace tutti::predict {

/// What is the same on all ranks. Throws tutti::Error (unsupported) if the algorithm cannot serve the call.
class Calls {
 public:
  Calls(const timed::Machine& machine, const Question& question);

  const Geometry& geometry() const { return geometry_; }
  const Plan& plan() const { return plan_; }
  /// Those that run in virtual time.
  int running_blocks() const { return blocks_; }
  /// As the library would run them.
  int blocks() const { return blocks_ * folded_; }
  /// The machine on which they are timed: the one described or, if blocks are folded, one of faster blocks.
  const timed::Machine& machine() const { return machine_; }
  Cost cost() const;

  /// Gives every rank its buffers. Before `make`.
  void allocate(timed::World& world);
  /// As bench does around a call that it times: the program writes its input, and reads its result.
  void prepare(timed::Rank& rank) const;
  void check(timed::Rank& rank) const;
  /// What `rank` launches for one call, one after the other: a message goes there and comes back, of others there is
  /// one. None if the rank takes no part. `number` counts its calls.
  std::vector<timed::Launch> make(const timed::World& world, int rank, std::uint64_t number) const;

 private:
  timed::Launch launch(const timed::World& world, int rank, const Request& request, Kernel kernel,
                       std::uint64_t number) const;

  void fold();

  timed::Machine machine_;
  Question question_;
  Request request_;
  Geometry geometry_;
  Plan plan_;
  int blocks_ = 1;
  int folded_ = 1;               ///< how many blocks one stands for
  std::vector<char*> in_, out_;  ///< by rank
};

}  // namespace tutti::predict
