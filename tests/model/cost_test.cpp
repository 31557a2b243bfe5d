// What every kernel costs as the model counts it, beside the formula in the kernel's file.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/model/calls.hpp"
#include "tests/one_slice.hpp"

namespace tutti::model {
namespace {

constexpr DataType kType = DataType::i32;
constexpr std::size_t kLineOf = kLine / size_of(kType);

/// The costs of some calls, made one after the other.
std::vector<Cost> counted(const Geometry& geometry, const std::vector<Case>& cases,
                          const std::function<bool(const WordAt&)>& omit = {}) {
  Model model(geometry, 1 + static_cast<std::uint64_t>(geometry.ranks));
  Buffers buffers(model, buffer_bytes(cases, geometry.ranks));
  if (omit) model.omit(omit);
  model.run([&](ModelRank& me) {
    for (Case c : cases) {
      // Ranks that take no part in a message make a call of no ops, so that calls have one number everywhere.
      const bool message = c.shape() == Shape::message;
      if (message && me.rank() != c.root && me.rank() != c.to) {
        me.call({});
        continue;
      }
      if (message && me.rank() == c.to) c.kernel = Kernel::recv;
      me.call({buffers.prepare(c, me.rank())});
      if (!omit) buffers.verify(c, me.rank());
    }
  });
  if (!omit) {
    EXPECT_EQ(model.report(), "");
  }
  std::vector<Cost> costs;
  for (std::size_t call = 0; call < cases.size(); ++call) {
    Cost most;
    for (int r = 0; r < geometry.ranks; ++r) {
      const Spent spent = model.spent(call, r);
      most.steps = std::max(most.steps, spent.steps);
      most.bytes = std::max(most.bytes, static_cast<double>(std::max(spent.sent, spent.received)));
    }
    costs.push_back(most);
  }
  return costs;
}

Cost formula(const Case& c, int ranks) {
  return cost_of(c.kernel, ranks, static_cast<double>(c.count * size_of(c.type)), c.mapped != Mapped::none, c.blocks);
}

/// What is wrong; empty if nothing. Bytes are whole numbers, but formulas divide.
std::string difference(const Cost& counted, const Cost& formula) {
  std::string text;
  if (counted.steps != formula.steps)
    text += " steps " + std::to_string(counted.steps) + ", by the formula " + std::to_string(formula.steps);
  if (std::abs(counted.bytes - formula.bytes) > 1e-6)
    text += " bytes " + std::to_string(counted.bytes) + ", by the formula " + std::to_string(formula.bytes);
  return text;
}

std::vector<Case> all_kernels(int ranks, int blocks) {
  std::vector<Case> cases;
  for (int k = 0; k < kKernels; ++k) {
    const auto kernel = static_cast<Kernel>(k);
    if (kernel == Kernel::recv) continue;  // the other end of a send
    for (const Mapped mapped : {best_for(kernel), Mapped::none}) {
      Case c{.kernel = kernel,
             .count = even_count(kernel, ranks, blocks),
             .type = kType,
             .to = ranks - 1,
             .blocks = blocks,
             .mapped = mapped};
      if (c.shape() == Shape::nothing) c.count = 0;
      cases.push_back(c);
      if (!c.rooted()) continue;
      c.root = ranks / 2;
      cases.push_back(c);
    }
  }
  return cases;
}

class CostsOf : public testing::TestWithParam<int> {};

TEST_P(CostsOf, EveryKernelAreWhatItsFileSays) {
  const int ranks = GetParam();
  for (int blocks = kReduced ? 3 : 1; blocks <= 3; ++blocks) {
    const std::vector<Case> cases = all_kernels(ranks, blocks);
    const std::vector<Cost> costs = counted(one_slice_geometry(ranks, blocks), cases);
    for (std::size_t i = 0; i < cases.size(); ++i)
      EXPECT_EQ(difference(costs[i], formula(cases[i], ranks)), "") << text_of(cases[i]) << ", ranks " << ranks;
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, CostsOf, testing::Range(2, 17));

TEST(Costs, OfAPulledMessageAreOneStepMore) {
  const Case c{.kernel = Kernel::send, .count = 1000, .type = kType, .to = 1};
  Cost expected = formula(c, 2);
  ++expected.steps;
  EXPECT_EQ(difference(counted(one_slice_geometry(2, 1), {c})[0], expected), "");
}

TEST(Costs, AreHigherWithFewerSlotsThanMessages) {
  const Case c{.kernel = Kernel::tree_gather, .count = kLineOf, .type = kType, .mapped = Mapped::none};
  Geometry tight = one_slice_geometry(16, 1);
  tight.slots = 3;
  const Cost few = counted(tight, {c})[0];
  EXPECT_GT(few.steps, formula(c, 16).steps);
  EXPECT_EQ(few.bytes, formula(c, 16).bytes);
}

TEST(Costs, DifferFromTheFormulaIfAKernelSendsLess) {
  const Case c{.kernel = Kernel::two_shot_all_reduce, .count = kLineOf * 3, .type = kType};
  const auto leave = [](const WordAt& at) { return at.word == Word::leave; };
  EXPECT_EQ(difference(counted(one_slice_geometry(3, 1), {c}, leave)[0], formula(c, 3)), " steps 1, by the formula 2");
  const Case staged{.kernel = Kernel::ring_all_reduce, .count = kLineOf * 6, .type = kType, .mapped = Mapped::none};
  const auto first_copy = [](const WordAt& at) { return at.word == Word::copy && at.rank < 3 && at.ordinal < 5; };
  const std::string said = difference(counted(one_slice_geometry(3, 1), {staged}, first_copy)[0], formula(staged, 3));
  EXPECT_EQ(said.substr(0, 6), " bytes") << said;
}

TEST(Costs, OfAKernelWithANeedlessMessageAreHigher) {
  Model model(one_slice_geometry(2, 1), 0);
  const int segment = model.allocate_segment(64);
  model.run([&](ModelRank& me) {
    Call call;
    call.in = call.out = model.segment(segment, me.rank());
    call.count = 16;
    call.in_place = call.out_place = model.place_of(call.in);
    const auto body = [](ModelBlock& block, const Call& its) {
      const int peer = 1 - block.rank();
      block.enter(its, Reach::out);
      block.signal(data(peer), 1);
      block.wait(data(peer), 1);
      if (block.rank() == 0) block.copy(one(block.out_of(1)), its.in, 64);
      block.leave();
      block.advance_sent(data(peer), 1);
      block.advance_received(data(peer), 1);
    };
    for (int i = 0; i < 2; ++i)
      me.call({Op{.name = "of_the_test", .body = body, .call = call, .in_bytes = 64, .out_bytes = 64}});
  });
  EXPECT_EQ(model.report(), "");
  for (std::size_t call = 0; call < 2; ++call) {
    EXPECT_EQ(model.spent(call, 0).steps, 3);
    EXPECT_EQ(model.spent(call, 0).sent, 64u);
    EXPECT_EQ(model.spent(call, 0).received, 0u);
    EXPECT_EQ(model.spent(call, 1).steps, 3);
    EXPECT_EQ(model.spent(call, 1).sent, 0u);
    EXPECT_EQ(model.spent(call, 1).received, 64u);
  }
}

}  // namespace
}  // namespace tutti::model
