// A trial in the model: its calls, their results compared bit for bit, and all that the model has found.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "kernels/block_model.hpp"
#include "tests/model/check_cases.hpp"

namespace tutti::model {

/// A word that a rank leaves out in every call, for tests of the check itself.
struct Plant {
  Word word = Word::wait;
  Purpose purpose = Purpose::data;  ///< of signal, wait and advance
  int rank = 1;

  bool leaves_out(const WordAt& at) const { return at.rank == rank && at.word == word && at.flags.purpose == purpose; }
};

/// How one schedule ended.
struct Outcome {
  std::string text;  ///< all that is wrong, a line each; nothing if all is well
  std::uint64_t words = 0;

  bool clean() const { return text.empty(); }
};

/// Buffers whose calls are ops of the model. World: a Model, or a Communicator of one.
template <class World>
class TrialBuffers : public cases::CaseBuffers<World> {
 public:
  using cases::CaseBuffers<World>::CaseBuffers;

  Op prepare(const cases::Case& c, int rank) {
    const cases::Prepared p = cases::CaseBuffers<World>::prepare(c, rank);
    return run(c.kernel, p.call, c.blocks, p.in_bytes, p.out_bytes);
  }
};

/// What the model's hook does in a trial: counts the word, and leaves it out if that is planted.
Verdict told(const WordAt& at, const std::optional<Plant>& plant, Outcome& outcome);

Outcome run_trial(const Trial& trial, const std::optional<Plant>& plant = {});

}  // namespace tutti::model
