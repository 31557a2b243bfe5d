#include "tests/model/check_sequences.hpp"

#include <algorithm>
#include <numeric>

namespace tutti::model {

using cases::Case;
using cases::Mapped;
using cases::Shape;

namespace {

/// Room for the data of a collective on all ranks.
constexpr std::size_t kBytes = 16 << 10;
/// Collectives of a communicator that may be under way at the same time.
constexpr std::size_t kUnderWay = 2;
/// Apart from the numbers of calls.
constexpr std::uint64_t kOfSplits = std::uint64_t{1} << 40;

}  // namespace

/// The same numbers on every rank, for each call its own.
class Mixture::Numbers {
 public:
  Numbers(std::uint64_t seed, std::uint64_t call) : seed_(seed * 0x9e3779b97f4a7c15u + call), call_(call) {}
  std::size_t below(std::size_t n) { return model::drawn(seed_, next_++, n); }
  std::uint64_t call() const { return call_; }

 private:
  std::uint64_t seed_, call_;
  std::uint64_t next_ = 0;
};

Mixture::Mixture(const Mix& mix) : mix_(mix), model_(mix.geometry, mix.seed) {
  add_part(model_.world());
  for (int i = 0; i < mix.splits; ++i) {
    Numbers numbers(mix.seed, kOfSplits + static_cast<std::uint64_t>(i));
    split(numbers);
  }
  for (Part& part : parts_) part.communicator->set_uses(Region::packets, mix.first_use);
  if (mix.hook) model_.hook(mix.hook);
}

void Mixture::add_part(Communicator& communicator) {
  Part& part = parts_.emplace_back();
  part.communicator = &communicator;
  for (std::size_t i = 0; i < (mix_.async ? kUnderWay : 1); ++i)
    part.collectives.push_back(std::make_unique<Buffers>(communicator, kBytes));
  for (int i = 0; i < 2 * communicator.size(); ++i)
    part.messages.push_back(std::make_unique<Buffers>(communicator, kBytes / 8));
}

/// Cuts the ranks into two parts, in any order; one of a single rank stays out.
void Mixture::split(Numbers& numbers) {
  const int n = mix_.geometry.ranks;
  std::vector<int> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[numbers.below(i)]);
  std::vector<int>& part_of = part_of_.emplace_back(order.size(), -1);
  const auto first = static_cast<std::ptrdiff_t>(1 + numbers.below(order.size()));
  for (const std::vector<int>& members :
       {std::vector<int>(order.begin(), order.begin() + first), std::vector<int>(order.begin() + first, order.end())}) {
    if (members.size() < 2) continue;
    for (const int member : members) part_of[static_cast<std::size_t>(member)] = static_cast<int>(parts_.size());
    const Geometry& all = mix_.geometry;
    add_part(model_.communicator(members, mixed_geometry(static_cast<int>(members.size()), all.blocks, all.slots)));
  }
}

std::string Mixture::run() {
  model_.run([this](ModelRank& me) {
    Mine mine{.rank = me, .pending = {}, .collectives = {}};
    for (std::uint64_t call = 0; call < mix_.calls && wrong_.empty(); ++call) {
      Numbers numbers(mix_.seed, call);
      const Part* part = &parts_.front();
      if (const std::size_t which = numbers.below(1 + part_of_.size()); which > 0) {
        const int number = part_of_[which - 1][static_cast<std::size_t>(me.rank())];
        if (number < 0) continue;
        part = &parts_[static_cast<std::size_t>(number)];
      }
      if (numbers.below(10) < 3)
        group(mine, *part, numbers);
      else
        collective(mine, *part, numbers);
    }
    while (!mine.pending.empty()) finish(mine, 0);
  });
  return model_.report() + wrong_;
}

/// Kind and size of a call of `most_bytes` on each rank.
Case Mixture::any_case(const Part& part, Numbers& numbers, std::size_t most_bytes) const {
  const auto blocks = static_cast<std::size_t>(part.communicator->geometry().blocks);
  Case c{.type = static_cast<DataType>(numbers.below(kDataTypes)),
         .op = static_cast<ReduceOp>(numbers.below(kReduceOps)),
         .blocks = 1 + static_cast<int>(numbers.below(blocks)),
         .mapped = static_cast<Mapped>(numbers.below(3)),
         .salt = numbers.call() + numbers.below(1000)};
  const std::size_t most = most_bytes / size_of(c.type);
  switch (numbers.below(4)) {
    case 0: c.count = numbers.below(3); break;
    case 1: c.count = numbers.below(std::min<std::size_t>(most, 40) + 1); break;
    default: c.count = numbers.below(most + 1);
  }
  return c;
}

void Mixture::collective(Mine& mine, const Part& part, Numbers& numbers) {
  const Geometry& g = part.communicator->geometry();
  const auto n = static_cast<std::size_t>(g.ranks);
  const int rank = part.communicator->rank_of(mine.rank.rank());
  Case c = any_case(part, numbers, kBytes / n / (numbers.below(4) == 0 ? 1 : 8));
  do c.kernel = static_cast<Kernel>(numbers.below(kKernels));
  while (c.shape() == Shape::message);
  c.root = static_cast<int>(numbers.below(n));
  c.in_place = c.may_be_in_place() && numbers.below(2) == 0;
  if (c.shape() == Shape::nothing) c.count = 0;
  if (by_packets(c.kernel)) {
    c.blocks = std::min(c.blocks, g.packet_blocks);
    c.count %= static_cast<std::size_t>(c.blocks) * g.packet_bytes / size_of(c.type) + 1;
  }
  if (!takes(c, g)) c.op = ReduceOp::sum;
  if (by_multicast(c.kernel) && c.mapped == Mapped::all && numbers.below(2) == 0) {
    c.mapped = Mapped::multicast;
    if (!takes(c, g)) c.mapped = Mapped::all;
  }
  if (rank == 0) ++drawn_[{c.kernel, c.blocks, c.mapped}];
  Buffers& buffers = *part.collectives[mine.collectives[&part]++ % part.collectives.size()];
  free(mine, &buffers);
  const Op op = buffers.prepare(c, rank);
  start(mine, part, {op}, {.started = {}, .rank = rank, .uses = {{&buffers, c}}}, numbers.below(2) == 0);
}

/// Messages between some of the ranks, all at once: at most one from each to each.
void Mixture::group(Mine& mine, const Part& part, Numbers& numbers) {
  const int ranks = part.communicator->size(), rank = part.communicator->rank_of(mine.rank.rank());
  Pending pending{.started = {}, .rank = rank, .uses = {}};
  std::vector<bool> takes_part;
  for (int r = 0; r < ranks; ++r) takes_part.push_back(numbers.below(3) > 0);
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      Case c = any_case(part, numbers, kBytes / 8 / 2);
      const bool sent = numbers.below(2) == 0;
      if (from == to || !sent || !takes_part[static_cast<std::size_t>(from)] ||
          !takes_part[static_cast<std::size_t>(to)])
        continue;
      c.root = from;
      c.to = to;
      c.blocks = std::min(c.blocks, part.communicator->geometry().message_blocks);
      c.kernel = rank == from ? Kernel::send : Kernel::recv;
      if (rank == from || rank == to) ++drawn_[{c.kernel, c.blocks, c.mapped}];
      if (rank == from) pending.uses.push_back({part.messages[static_cast<std::size_t>(to)].get(), c});
      if (rank == to) pending.uses.push_back({part.messages[static_cast<std::size_t>(ranks + from)].get(), c});
    }
  }
  const bool wait = numbers.below(2) == 0;
  if (pending.uses.empty()) return;
  std::vector<Op> ops;
  for (const auto& [buffers, c] : pending.uses) {
    free(mine, buffers);
    ops.push_back(buffers->prepare(c, rank));
  }
  start(mine, part, ops, std::move(pending), wait);
}

/// Waits for the call that uses the buffers.
void Mixture::free(Mine& mine, const Buffers* buffers) {
  for (std::size_t i = 0; i < mine.pending.size(); ++i) {
    const auto& uses = mine.pending[i].uses;
    const auto same = [buffers](const auto& use) { return use.first == buffers; };
    if (std::any_of(uses.begin(), uses.end(), same)) return finish(mine, i);
  }
}

void Mixture::start(Mine& mine, const Part& part, const std::vector<Op>& ops, Pending pending, bool wait) {
  pending.started = mine.rank.start(*part.communicator, ops);
  mine.pending.push_back(std::move(pending));
  if (wait || !mix_.async) finish(mine, mine.pending.size() - 1);
}

/// Waits for a call, and compares what it got.
void Mixture::finish(Mine& mine, std::size_t which) {
  const Pending pending = std::move(mine.pending[which]);
  mine.pending.erase(mine.pending.begin() + static_cast<std::ptrdiff_t>(which));
  mine.rank.wait(pending.started);
  if (!mix_.compare) return;
  for (const auto& [buffers, c] : pending.uses) {
    const std::string wrong = buffers->wrong_in(c, pending.rank);
    if (wrong_.empty() && !wrong.empty()) wrong_ = "wrong result: " + wrong + "\n";
  }
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
          .calls = 60,
          .first_use = seed % 2 ? kBeforeTagsRepeat : 0,
          .splits = 1 + static_cast<int>(seed % 2),
          .async = seed % 4 != 0,
          .hook = {}};
  mix.hook = [&](const WordAt& at) { return told(at, plant, outcome); };
  Mixture mixture(mix);
  outcome.text = mixture.run();
  return outcome;
}

}  // namespace tutti::model
