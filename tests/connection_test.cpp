// The protocol's state from call to call: thousands of calls of all kinds, one after the other on the same
// communicator, each rank as fast as the model's schedule lets it.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "tests/model/calls.hpp"
#include "tests/model/check_sequences.hpp"

namespace tutti::model {
namespace {

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

class Ranks : public testing::TestWithParam<int> {};

TEST_P(Ranks, KeepTheirCountsThroughTenThousandMixedCalls) {
  const int ranks = GetParam();
  for (std::uint64_t seed = 1; seed <= (full() ? 30 : 1); ++seed) {
    Mixture mixture({.geometry = mixed_geometry(ranks, ranks == 3 ? 4 : 3, 3),
                     .seed = seed * static_cast<std::uint64_t>(ranks),
                     .calls = kReduced ? 2000u : 10'000u,
                     .first_use = kBeforeTagsRepeat,
                     .hook = {}});
    ASSERT_EQ(mixture.run(), "");
    // Every kernel came often, in every kind of memory, and with every number of blocks that it can have.
    std::map<std::pair<Kernel, int>, int> with_blocks, in_memory;
    for (const auto& [what, times] : mixture.drawn()) {
      with_blocks[{std::get<Kernel>(what), std::get<int>(what)}] += times;
      in_memory[{std::get<Kernel>(what), static_cast<int>(std::get<Mapped>(what))}] += times;
    }
    for (int k = 0; k < kKernels; ++k) {
      const auto kernel = static_cast<Kernel>(k);
      const Geometry g = mixed_geometry(ranks, ranks == 3 ? 4 : 3, 3);
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
    Mixture mixture(
        {.geometry = mixed_geometry(ranks, 2 + static_cast<int>(seed % 2), 3 + static_cast<int>(seed / 2 % 3)),
         .seed = seed,
         .calls = 100,
         .first_use = seed % 2 ? kBeforeTagsRepeat : 0,
         .splits = static_cast<int>(seed % 3),
         .async = seed % 4 != 0,
         .hook = {}});
    ASSERT_EQ(mixture.run(), "");
  }
}

/// What the model says of a mixture in which rank 1 leaves out a word.
std::set<Defect> defects_of(int ranks, Word word, Purpose purpose) {
  std::set<Defect> defects;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    Mixture mixture({.geometry = mixed_geometry(ranks, 2, 3),
                     .seed = seed,
                     .calls = 60,
                     .first_use = 0,
                     .hook =
                         [=](const WordAt& at) {
                           return Verdict{.nothing = Plant{word, purpose}.leaves_out(at)};
                         },
                     .compare = false});
    mixture.run();
    for (const Finding& f : mixture.model().findings()) defects.insert(f.defect);
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
