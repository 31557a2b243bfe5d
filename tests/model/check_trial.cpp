#include "tests/model/check_trial.hpp"

namespace tutti::model {

using cases::Case;
using cases::Shape;

Verdict told(const WordAt& at, const std::optional<Plant>& plant, Outcome& outcome) {
  if (at.word == Word::lane_to || at.word == Word::lane_from) return {};
  ++outcome.words;
  return {.nothing = plant && plant->leaves_out(at)};
}

Outcome run_trial(const Trial& trial, const std::optional<Plant>& plant) {
  Outcome outcome;
  Model model(trial.geometry, trial.seed);
  TrialBuffers<Model> buffers(model, cases::buffer_bytes(trial.calls, trial.geometry.ranks));
  if (trial.packet_uses > 0) model.set_uses(Region::packets, trial.packet_uses);
  model.hook([&](const WordAt& at) { return told(at, plant, outcome); });
  std::string wrong;
  model.run([&](ModelRank& me) {
    for (const Case& c : trial.calls) {
      Case mine = c;
      if (c.shape() == Shape::message) {
        if (me.rank() != c.root && me.rank() != c.to) continue;
        mine.kernel = me.rank() == c.root ? Kernel::send : Kernel::recv;
      }
      me.call({buffers.prepare(mine, me.rank())});
      const std::string mismatch = buffers.wrong_in(mine, me.rank());
      if (wrong.empty() && !mismatch.empty()) wrong = "wrong result: " + mismatch + "\n";
    }
  });
  outcome.text = model.report() + wrong;
  return outcome;
}

}  // namespace tutti::model
