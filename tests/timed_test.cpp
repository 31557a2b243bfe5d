// Every kernel in virtual time: right results, and as many bytes as its file says.
#include <algorithm>
#include <cmath>
#include <numeric>

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
      for (const Mapped mapped : {Mapped::all, Mapped::none, Mapped::all_but_one}) {
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

INSTANTIATE_TEST_SUITE_P(Ranks, Worlds, testing::Values(2, 3, 4, 5, 6, 7, 8, 13, 16));

}  // namespace
}  // namespace tutti::timed
