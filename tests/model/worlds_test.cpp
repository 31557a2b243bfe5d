// Every kernel in the model, in worlds of 2 to 16 ranks; a world of one has no kernel (the layer above copies).
#include <gtest/gtest.h>

#include <tuple>

#include "tests/model/calls.hpp"

namespace tutti::model {
namespace {

constexpr DataType kWide[] = {DataType::f32, DataType::f64, DataType::i32, DataType::u64, DataType::i64, DataType::u32};
constexpr DataType kNarrow[] = {DataType::f16, DataType::bf16, DataType::i8, DataType::u8};

/// How much of all there is to try, so that large worlds take about as long as small ones.
struct Effort {
  int seeds;
  std::size_t sizes;  ///< of each kernel in each kind of memory
};

Effort effort_for(int ranks) {
  constexpr std::size_t kEverySize = 99;
  if (full()) return {.seeds = ranks <= 4 ? 60 : ranks <= 8 ? 20 : 6, .sizes = kEverySize};
  if (kReduced) return {.seeds = 1, .sizes = ranks <= 4 ? 3u : 1u};
  if (ranks <= 4) return {.seeds = 5, .sizes = kEverySize};
  return ranks <= 8 ? Effort{.seeds = 2, .sizes = 6} : Effort{.seeds = ranks <= 12 ? 2 : 1, .sizes = 2};
}

/// Counts around every border of the geometry, and their types; `salt` chooses among the types.
std::vector<std::pair<std::size_t, DataType>> sizes_of(Kernel kernel, const Geometry& g, int blocks,
                                                       std::uint64_t salt) {
  const Shape shape = shape_of(kernel);
  const auto n = static_cast<std::size_t>(g.ranks), b = static_cast<std::size_t>(blocks);
  const DataType wide = kWide[salt % std::size(kWide)], narrow = kNarrow[salt % std::size(kNarrow)];
  if (shape == Shape::nothing) return {{0, narrow}};
  const std::size_t slice = g.slot_bytes / size_of(wide), line = kLine / size_of(wide);
  const std::size_t spread = shape == Shape::all_reduce ? n : 1;  // the count is shared out over the ranks
  std::vector<std::pair<std::size_t, DataType>> sizes = {{0, narrow}, {1, narrow}, {7, wide}};
  for (const std::size_t count : {n - 1, n + 1, kLine / size_of(narrow) + 1}) sizes.push_back({count, narrow});
  for (const std::size_t count : {line * b, slice * spread - 1, slice * spread, slice * spread + 1})
    sizes.push_back({count, wide});
  if (salt % 2 == 0) sizes.push_back({slice * spread * b * 2 + 3, wide});
  if (by_packets(kernel))
    for (const std::size_t bytes : {kPacketLine - 8, kPacketLine, kPacketLine + 8, g.packet_bytes})
      sizes.push_back({bytes / size_of(wide), wide});
  return sizes;
}

/// Calls of every kernel, in every kind of memory.
std::vector<Case> cases_of(const Geometry& g, int blocks, std::uint64_t seed) {
  std::vector<Case> cases;
  const auto n = static_cast<std::size_t>(g.ranks);
  std::uint64_t salt = seed;
  for (int k = 0; k < kKernels; ++k) {
    const auto kernel = static_cast<Kernel>(k);
    if (kernel == Kernel::recv) continue;  // the other end of each send
    for (const Mapped mapped : {Mapped::all, Mapped::none, Mapped::all_but_one}) {
      for (const bool in_place : {false, true}) {
        if (in_place && !Case{.kernel = kernel}.may_be_in_place()) continue;
        const auto sizes = sizes_of(kernel, g, blocks, ++salt);
        std::size_t wanted = std::min(sizes.size(), effort_for(g.ranks).sizes);
        for (std::size_t i = 0; i < sizes.size() && wanted > 0; ++i) {
          const auto& [count, type] = sizes[(salt * 5 + i) % sizes.size()];
          ++salt;
          Case c{.kernel = kernel,
                 .count = count,
                 .type = type,
                 .op = static_cast<ReduceOp>(salt % kReduceOps),
                 .root = static_cast<int>(salt / 5 % n),
                 .blocks = blocks,
                 .mapped = mapped,
                 .in_place = in_place,
                 .salt = salt};
          c.to = static_cast<int>((static_cast<std::size_t>(c.root) + 1 + salt % (n - 1)) % n);
          if (!takes(c, g)) c.op = ReduceOp::sum;
          if (!takes(c, g)) continue;
          cases.push_back(c);
          --wanted;
        }
      }
    }
  }
  return cases;
}

/// Runs one case on the rank, as its own call.
void run_case(ModelRank& me, Buffers& buffers, const Case& c) {
  if (c.shape() == Shape::message) {
    if (me.rank() != c.root && me.rank() != c.to) return;
    Case mine = c;
    if (me.rank() == c.to) mine.kernel = Kernel::recv;
    me.call({buffers.prepare(mine, me.rank())});
    buffers.verify(mine, me.rank());
    return;
  }
  me.call({buffers.prepare(c, me.rank())});
  buffers.verify(c, me.rank());
}

class Worlds : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(Worlds, RunEveryKernelRightInEverySchedule) {
  const auto [ranks, blocks] = GetParam();
  if (kReduced && ranks > 4 && blocks != 1 + ranks % 3) GTEST_SKIP() << "one block count a world under a sanitizer";
  for (int seed = 0; seed < effort_for(ranks).seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const int slots = kLeastSlots + (seed + blocks) % 3;
    Model model(tight_geometry(ranks, blocks, slots), static_cast<std::uint64_t>(seed + ranks));
    std::vector<Case> cases = cases_of(model.geometry(), blocks, static_cast<std::uint64_t>(seed) * 1000);
    Buffers buffers(model, buffer_bytes(cases, ranks));
    model.run([&](ModelRank& me) {
      for (const Case& c : cases) run_case(me, buffers, c);
    });
    ASSERT_EQ(model.report(), "");
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Worlds, testing::Combine(testing::Range(2, 17), testing::Values(1, 2, 3)),
                         [](const auto& world) {
                           return std::to_string(std::get<0>(world.param)) + "RanksOf" +
                                  std::to_string(std::get<1>(world.param)) + "Blocks";
                         });

}  // namespace
}  // namespace tutti::model
