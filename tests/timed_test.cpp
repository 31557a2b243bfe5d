// Every kernel in virtual time: right results, and as many bytes as its file says.
#include <algorithm>
#include <cmath>

#include "tests/one_slice.hpp"
#include "tests/timed_worlds.hpp"

namespace tutti::timed {
namespace {

std::vector<Case> some_cases(int ranks, const Geometry& geometry) {
  std::vector<Case> cases;
  std::uint64_t salt = 1;
  for (int k = 0; k < kKernels; ++k) {
    const auto kernel = static_cast<Kernel>(k);
    if (kernel == Kernel::recv) continue;
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{77}, std::size_t{1000}})
      for (const Mapped mapped : {best_for(kernel), Mapped::none, Mapped::all_but_one}) {
        Case c{.kernel = kernel, .count = count, .mapped = mapped, .salt = ++salt};
        c.type = static_cast<DataType>(salt % kDataTypes);
        c.op = static_cast<ReduceOp>(salt % 3);
        c.root = static_cast<int>(salt) % ranks;
        c.to = (c.root + 1) % ranks;
        c.blocks = 1 + static_cast<int>(salt % static_cast<std::uint64_t>(geometry.blocks));
        c.in_place = c.may_be_in_place() && salt % 2 == 0;
        if (!takes(c, geometry)) continue;
        if (c.shape() == Shape::nothing) c.count = 0;
        cases.push_back(c);
      }
  }
  return cases;
}

class Worlds : public testing::TestWithParam<int> {};

TEST_P(Worlds, GiveEveryKernelsResultsBitForBit) {
  const int ranks = GetParam();
  const Geometry geometry = tight_geometry(ranks, 3, 3);
  const std::vector<Case> cases = some_cases(ranks, geometry);
  for (const Machine& machine : {plain_gpus(ranks), plain_cpus(ranks), plain_cpus(ranks, 2)}) {
    World world(machine, geometry, Backing::real);
    EXPECT_EQ(wrong_of(world, cases, buffer_bytes(cases, ranks)), "") << machine.name;
  }
}

/// What a case costs, as this executor counts it.
Cost counted(const Case& c, int ranks) {
  World world(plain_gpus(ranks), one_slice_geometry(ranks, c.blocks), Backing::none);
  const Addresses buffers(world, c);
  Trace trace;
  world.record(&trace);
  world.run([&](Rank& me) {
    if (!takes_part(c, me.rank())) return;
    const Launch launch = launch_of(c, buffers.call(c, me.rank()), me.rank());
    me.call({&launch, 1});
  });
  Cost cost;
  for (const Event& event : trace) cost.steps = std::max(cost.steps, event.step);
  for (int r = 0; r < ranks; ++r) {
    double sent = world.sent_to_switch(r), received = world.received_from_switch(r);
    for (int peer = 0; peer < ranks; ++peer) {
      sent += world.payload_bytes(r, peer);
      received += world.payload_bytes(peer, r);
    }
    cost.bytes = std::max({cost.bytes, sent, received});
  }
  return cost;
}

TEST_P(Worlds, MoveAsMuchInAsManyStepsAsTheKernelsFilesSay) {
  const int ranks = GetParam();
  for (int k = 0; k < kKernels; ++k) {
    const auto kernel = static_cast<Kernel>(k);
    if (kernel == Kernel::recv) continue;
    for (const Mapped mapped : {best_for(kernel), Mapped::none})
      for (const int blocks : {1, 3}) {
        const Case c{.kernel = kernel,
                     .count = even_count(kernel, ranks, blocks),
                     .to = ranks - 1,
                     .blocks = blocks,
                     .mapped = mapped};
        const Cost its = counted(c, ranks);
        const Cost formula =
            cost_of(kernel, ranks, static_cast<double>(c.count * sizeof(float)), mapped != Mapped::none, blocks);
        EXPECT_EQ(its.steps, formula.steps) << text_of(c) << ", ranks " << ranks;
        EXPECT_NEAR(its.bytes, formula.bytes, 1e-6) << text_of(c) << ", ranks " << ranks;
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Worlds, testing::Values(2, 3, 4, 5, 6, 7, 8, 13, 16));

}  // namespace
}  // namespace tutti::timed
