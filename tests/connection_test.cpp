// The protocol's state from call to call: thousands of calls of all kinds, one after the other on the same
// communicator, each rank as fast as the model's schedule lets it.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include "tests/model/calls.hpp"

namespace tutti::model {
namespace {

/// The same numbers on every rank, for each call its own.
class Numbers {
 public:
  Numbers(std::uint64_t seed, std::uint64_t call) : state_(seed * 0x9e3779b97f4a7c15u + call * 0xd1342543de82ef95u) {}
  std::size_t below(std::size_t n) {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t x = state_;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return static_cast<std::size_t>((x ^ x >> 31) % n);
  }

 private:
  std::uint64_t state_;
};

struct Mix {
  Geometry geometry;
  std::uint64_t seed = 0;
  std::uint64_t calls = 0;
  std::uint64_t first_use = 0;  ///< of the packets
  std::function<bool(const WordAt&)> omit;
  bool verify = true;
};

class Mixture {
 public:
  explicit Mixture(const Mix& mix) : mix_(mix), model_(mix.geometry, mix.seed) {
    for (int i = 0; i < 1 + 2 * ranks(); ++i) buffers_.push_back(std::make_unique<Buffers>(model_, kBytes));
    model_.set_uses(Region::packets, mix.first_use);
    if (mix.omit) model_.omit(mix.omit);
  }

  /// How often a kernel was called with so many blocks, and in such memory.
  using Drawn = std::map<std::tuple<Kernel, int, Mapped>, int>;
  const Drawn& drawn() const { return drawn_; }

  Model& run() {
    model_.run([this](ModelRank& me) {
      for (std::uint64_t call = 0; call < mix_.calls && !testing::Test::HasFailure(); ++call) {
        Numbers numbers(mix_.seed, call);
        if (numbers.below(10) < 3)
          group(me, numbers, call);
        else
          collective(me, numbers, call);
      }
    });
    return model_;
  }

 private:
  static constexpr std::size_t kBytes = 16 << 10;

  int ranks() const { return mix_.geometry.ranks; }

  std::size_t count_of(Numbers& numbers, std::size_t most) const {
    switch (numbers.below(4)) {
      case 0: return numbers.below(3);
      case 1: return numbers.below(std::min<std::size_t>(most, 40) + 1);
      default: return numbers.below(most + 1);
    }
  }

  /// Kind and size of a call of `most_bytes` on each rank.
  Case any_case(Numbers& numbers, std::uint64_t call, std::size_t most_bytes) const {
    Case c{.type = static_cast<DataType>(numbers.below(kDataTypes)),
           .op = static_cast<ReduceOp>(numbers.below(kReduceOps)),
           .blocks = 1 + static_cast<int>(numbers.below(static_cast<std::size_t>(mix_.geometry.blocks))),
           .mapped = static_cast<Mapped>(numbers.below(3)),
           .salt = call};
    c.count = count_of(numbers, most_bytes / size_of(c.type));
    return c;
  }

  void collective(ModelRank& me, Numbers& numbers, std::uint64_t call) {
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
    verify(*buffers_[0], c, me.rank());
  }

  /// Messages between some of the ranks, all at once: at most one from each to each.
  void group(ModelRank& me, Numbers& numbers, std::uint64_t call) {
    struct Mine {
      Buffers* buffers;
      Case c;
    };
    std::vector<Mine> mine;
    std::vector<bool> takes_part;
    for (int r = 0; r < ranks(); ++r) takes_part.push_back(numbers.below(3) > 0);
    for (int from = 0; from < ranks(); ++from) {
      for (int to = 0; to < ranks(); ++to) {
        Case c = any_case(numbers, call * 64 + static_cast<std::uint64_t>(from * 8 + to), kBytes / 8);
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
    for (const Mine& m : mine) verify(*m.buffers, m.c, me.rank());
  }

  void verify(Buffers& buffers, const Case& c, int rank) {
    if (mix_.verify) buffers.verify(c, rank);
  }

  Mix mix_;
  Model model_;
  Drawn drawn_;
  std::vector<std::unique_ptr<Buffers>> buffers_;  // of collectives, of messages to each rank, and from each
};

/// Packets and messages have fewer blocks than the rest.
Geometry geometry_of(int ranks, int blocks, int slots) {
  Geometry g = tight_geometry(ranks, blocks, slots);
  g.packet_blocks = blocks - 1;
  g.message_blocks = 2;
  return g;
}

TEST(AView, MovesEveryPlaceOfItsOwnAndOfItsTable) {
  char a[64], b[64], c[64];
  char* const table[] = {a, b, c};
  const auto places = [](const View& view) {
    std::vector<const char*> all;
    for (int i = 0; i < view.count; ++i) all.push_back(view.at(i));
    return all;
  };
  using Places = std::vector<const char*>;
  EXPECT_EQ(places(one(a).plus(3).plus(4)), (Places{a + 7}));
  EXPECT_EQ(places(two(a, b).plus(5)), (Places{a + 5, b + 5}));
  EXPECT_EQ(places(per_rank(table, 3, 8).plus(1)), (Places{a + 9, b + 9, c + 9}));
  EXPECT_EQ(places(per_rank(table, 3, 8).plus(1).with_own(1, a)), (Places{a + 9, a, c + 9}));
  EXPECT_EQ(places(per_rank(table, 3, 8).with_own(1, a).plus(1)), (Places{a + 9, a + 1, c + 9}));
}

constexpr std::uint64_t kBeforeTagsRepeat = (std::uint64_t{1} << 32) - 3;

class Ranks : public testing::TestWithParam<int> {};

TEST_P(Ranks, KeepTheirCountsThroughTenThousandMixedCalls) {
  const int ranks = GetParam();
  for (std::uint64_t seed = 1; seed <= (full() ? 30 : 1); ++seed) {
    Mixture mixture({.geometry = geometry_of(ranks, ranks == 3 ? 4 : 3, 3),
                     .seed = seed * static_cast<std::uint64_t>(ranks),
                     .calls = kReduced ? 2000u : 10'000u,
                     .first_use = kBeforeTagsRepeat,
                     .omit = {}});
    ASSERT_EQ(mixture.run().report(), "");
    if (HasFailure()) return;
    // Every kernel came often, in every kind of memory, and with every number of blocks that it can have.
    std::map<std::pair<Kernel, int>, int> with_blocks, in_memory;
    for (const auto& [what, times] : mixture.drawn()) {
      with_blocks[{std::get<Kernel>(what), std::get<int>(what)}] += times;
      in_memory[{std::get<Kernel>(what), static_cast<int>(std::get<Mapped>(what))}] += times;
    }
    for (int k = 0; k < kKernels; ++k) {
      const auto kernel = static_cast<Kernel>(k);
      const Geometry g = geometry_of(ranks, ranks == 3 ? 4 : 3, 3);
      const int most = by_packets(kernel)                   ? g.packet_blocks
                       : shape_of(kernel) == Shape::message ? g.message_blocks
                                                            : g.blocks;
      const int often = kReduced ? 1 : 20;
      for (int blocks = 1; blocks <= most; ++blocks)
        EXPECT_GE((with_blocks[{kernel, blocks}]), often) << tutti::name_of(kernel) << " with blocks " << blocks;
      for (int mapped = 0; mapped < 3; ++mapped)
        EXPECT_GE((in_memory[{kernel, mapped}]), often) << tutti::name_of(kernel) << " in memory " << mapped;
    }
  }
}

TEST_P(Ranks, KeepTheirCountsInManySchedules) {
  const int ranks = GetParam();
  for (std::uint64_t seed = 100; seed < (full() ? 600 : kReduced ? 104 : 124); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Mixture mixture({.geometry = geometry_of(ranks, 2 + static_cast<int>(seed % 2), 3 + static_cast<int>(seed / 2 % 3)),
                     .seed = seed,
                     .calls = 100,
                     .first_use = seed % 2 ? kBeforeTagsRepeat : 0,
                     .omit = {}});
    ASSERT_EQ(mixture.run().report(), "");
    if (HasFailure()) return;
  }
}

/// What the model says of a mixture in which rank 1 leaves out a word.
std::set<Defect> defects_of(int ranks, Word word, Purpose purpose) {
  std::set<Defect> defects;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    Mixture mixture(
        {.geometry = geometry_of(ranks, 2, 3),
         .seed = seed,
         .calls = 60,
         .first_use = 0,
         .omit = [=](const WordAt& at) { return at.rank == 1 && at.word == word && at.flags.purpose == purpose; },
         .verify = false});
    for (const Finding& f : mixture.run().findings()) defects.insert(f.defect);
  }
  return defects;
}

TEST_P(Ranks, AreReportedWhenOneOfThemLeavesOutAWord) {
  const int ranks = GetParam();
  EXPECT_TRUE(defects_of(ranks, Word::wait, Purpose::data).count(Defect::race));
  EXPECT_TRUE(defects_of(ranks, Word::wait, Purpose::credit).count(Defect::race));
  EXPECT_TRUE(defects_of(ranks, Word::wait, Purpose::p2p_data).count(Defect::race));
  EXPECT_TRUE(defects_of(ranks, Word::wait, Purpose::p2p_credit).count(Defect::race));
  EXPECT_TRUE(defects_of(ranks, Word::leave, Purpose::data).count(Defect::race) ||
              defects_of(ranks, Word::leave, Purpose::data).count(Defect::deadlock));
  for (const Purpose purpose : {Purpose::data, Purpose::credit, Purpose::p2p_data, Purpose::p2p_credit}) {
    EXPECT_TRUE(defects_of(ranks, Word::advance_sent, purpose).count(Defect::counts));
    EXPECT_FALSE(defects_of(ranks, Word::advance_received, purpose).empty());
    EXPECT_TRUE(defects_of(ranks, Word::signal, purpose).count(Defect::deadlock));
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Ranks, testing::Values(3, 5));

}  // namespace
}  // namespace tutti::model
