#include "tests/model/check_sequences.hpp"

#include <algorithm>

namespace tutti::model {

using cases::Case;
using cases::Mapped;
using cases::Shape;

/// The same numbers on every rank, for each call its own.
class Mixture::Numbers {
 public:
  Numbers(std::uint64_t seed, std::uint64_t call) : seed_(seed * 0x9e3779b97f4a7c15u + call) {}
  std::size_t below(std::size_t n) { return model::drawn(seed_, next_++, n); }

 private:
  std::uint64_t seed_;
  std::uint64_t next_ = 0;
};

Mixture::Mixture(const Mix& mix) : mix_(mix), model_(mix.geometry, mix.seed) {
  for (int i = 0; i < 1 + 2 * ranks(); ++i) buffers_.push_back(std::make_unique<TrialBuffers>(model_, kBytes));
  model_.set_uses(Region::packets, mix.first_use);
  if (mix.hook) model_.hook(mix.hook);
}

std::string Mixture::run() {
  model_.run([this](ModelRank& me) {
    for (std::uint64_t call = 0; call < mix_.calls && wrong_.empty(); ++call) {
      Numbers numbers(mix_.seed, call);
      if (numbers.below(10) < 3)
        group(me, numbers, call);
      else
        collective(me, numbers, call);
    }
  });
  return model_.report() + wrong_;
}

/// Kind and size of a call of `most_bytes` on each rank.
Case Mixture::any_case(Numbers& numbers, std::uint64_t call, std::size_t most_bytes) const {
  Case c{.type = static_cast<DataType>(numbers.below(kDataTypes)),
         .op = static_cast<ReduceOp>(numbers.below(kReduceOps)),
         .blocks = 1 + static_cast<int>(numbers.below(static_cast<std::size_t>(mix_.geometry.blocks))),
         .mapped = static_cast<Mapped>(numbers.below(3)),
         .salt = call};
  const std::size_t most = most_bytes / size_of(c.type);
  switch (numbers.below(4)) {
    case 0: c.count = numbers.below(3); break;
    case 1: c.count = numbers.below(std::min<std::size_t>(most, 40) + 1); break;
    default: c.count = numbers.below(most + 1);
  }
  return c;
}

void Mixture::collective(ModelRank& me, Numbers& numbers, std::uint64_t call) {
  const auto n = static_cast<std::size_t>(ranks());
  Case c = any_case(numbers, call, kBytes / n / (numbers.below(4) == 0 ? 1 : 8));
  do c.kernel = static_cast<Kernel>(numbers.below(kKernels));
  while (c.shape() == Shape::message);
  c.root = static_cast<int>(numbers.below(n));
  c.in_place = c.may_be_in_place() && numbers.below(2) == 0;
  if (c.shape() == Shape::nothing) c.count = 0;
  const Geometry& g = mix_.geometry;
  if (by_packets(c.kernel)) {
    c.blocks = std::min(c.blocks, g.packet_blocks);
    c.count %= static_cast<std::size_t>(c.blocks) * g.packet_bytes / size_of(c.type) + 1;
  }
  if (!takes(c, g)) c.op = ReduceOp::sum;
  if (me.rank() == 0) ++drawn_[{c.kernel, c.blocks, c.mapped}];
  me.call({buffers_[0]->prepare(c, me.rank())});
  compare(*buffers_[0], c, me.rank());
}

/// Messages between some of the ranks, all at once: at most one from each to each.
void Mixture::group(ModelRank& me, Numbers& numbers, std::uint64_t call) {
  struct Mine {
    TrialBuffers* buffers;
    Case c;
  };
  std::vector<Mine> mine;
  std::vector<bool> takes_part;
  for (int r = 0; r < ranks(); ++r) takes_part.push_back(numbers.below(3) > 0);
  for (int from = 0; from < ranks(); ++from) {
    for (int to = 0; to < ranks(); ++to) {
      Case c = any_case(
          numbers, (call * kMaxRanks + static_cast<std::uint64_t>(from)) * kMaxRanks + static_cast<std::uint64_t>(to),
          kBytes / 8);
      const bool sent = numbers.below(2) == 0;
      if (from == to || !sent || !takes_part[static_cast<std::size_t>(from)] ||
          !takes_part[static_cast<std::size_t>(to)])
        continue;
      c.root = from;
      c.to = to;
      c.blocks = std::min(c.blocks, mix_.geometry.message_blocks);
      c.kernel = me.rank() == from ? Kernel::send : Kernel::recv;
      if (me.rank() == from || me.rank() == to) ++drawn_[{c.kernel, c.blocks, c.mapped}];
      if (me.rank() == from) mine.push_back({buffers_[static_cast<std::size_t>(1 + to)].get(), c});
      if (me.rank() == to) mine.push_back({buffers_[static_cast<std::size_t>(1 + ranks() + from)].get(), c});
    }
  }
  if (mine.empty()) return;
  std::vector<Op> ops;
  for (const Mine& m : mine) ops.push_back(m.buffers->prepare(m.c, me.rank()));
  me.call(ops);
  for (const Mine& m : mine) compare(*m.buffers, m.c, me.rank());
}

void Mixture::compare(TrialBuffers& buffers, const Case& c, int rank) {
  if (!mix_.compare) return;
  const std::string wrong = buffers.wrong_in(c, rank);
  if (wrong_.empty() && !wrong.empty()) wrong_ = "wrong result: " + wrong + "\n";
}

Geometry mixed_geometry(int ranks, int blocks, int slots) {
  Geometry g = cases::tight_geometry(ranks, blocks, slots);
  g.packet_blocks = std::max(1, blocks - 1);
  g.message_blocks = std::min(2, blocks);
  return g;
}

Outcome run_sequence(int ranks, std::uint64_t seed, const std::optional<Plant>& plant) {
  Outcome outcome;
  Mix mix{.geometry = mixed_geometry(ranks, 2 + static_cast<int>(seed % 3), 3 + static_cast<int>(seed / 3 % 3)),
          .seed = seed,
          .calls = 40,
          .first_use = seed % 2 ? kBeforeTagsRepeat : 0,
          .hook = {}};
  mix.hook = [&](const WordAt& at) { return told(at, plant, outcome); };
  Mixture mixture(mix);
  outcome.text = mixture.run();
  outcome.calls = mix.calls;
  return outcome;
}

}  // namespace tutti::model
