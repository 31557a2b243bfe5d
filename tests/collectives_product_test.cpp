// Every collective by every algorithm at the counts where cuts go wrong, against scalar code, bit for bit: with every
// memory, in place and not, in every type and reduction. Under TUTTI_FULL=1 the whole product of these for most worlds;
// else each kind of call meets every count x memory x place, with types and reductions in turn, and every type x
// reduction, with the rest in turn.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/collectives_kinds.hpp"
#include "tests/collectives_trial.hpp"

namespace tutti {
namespace {

using test::Case;
using test::Kind;
using test::Reached;

struct Job {
  int world;
  int blocks;       ///< 0: chosen by the communicator
  int threads = 1;  ///< that run the blocks
  int packet_blocks() const { return std::max(blocks, 1); }
};

/// None, one, odd ones, those around the number of ranks, and one that is just beyond packets.
std::vector<std::size_t> counts_for(const Job& job, DataType type) {
  const auto n = static_cast<std::size_t>(job.world);
  return {0, 1, 7, n - 1, n, n + 1, 2 * n - 1, test::packet_bytes(job.packet_blocks()) / size_of(type) + n + 1};
}
constexpr std::size_t kCounts = 8;

/// The longest input or output of a case, in bytes.
std::size_t longest(const Job& job) {
  return (test::packet_bytes(job.packet_blocks()) + 20 * sizeof(double)) * static_cast<std::size_t>(job.world);
}

Case case_of(const Kind& kind, const Job& job, DataType type, ReduceOp op, std::size_t count, bool in_place,
             Reached memory, unsigned salt) {
  Case c;
  c.collective = kind.collective;
  c.algorithm = kind.algorithm;
  c.type = type;
  c.op = op;
  c.count = counts_for(job, type)[count];
  c.in_place = in_place;
  c.memory = memory;
  c.salt = salt;
  c.root = static_cast<int>(salt) % job.world;
  c.most_packets = test::packet_bytes(job.packet_blocks());
  c.async = salt % 5 == 0;
  return c;
}

DataType type_of(unsigned i) { return static_cast<DataType>(i % kDataTypes); }
ReduceOp op_of(unsigned i) { return static_cast<ReduceOp>(i % kReduceOps); }

/// body(case) for every count x memory x place of a kind, in some types and reductions, others for each kind.
template <class F>
void for_every_shape(const Kind& kind, const Job& job, unsigned turn, unsigned& salt, F&& body) {
  for (const bool in_place : {false, true})
    for (int memory = 0; memory < test::kReached; ++memory)
      for (std::size_t count = 0; count < kCounts; ++count)
        for (int some = 0; some < 3; ++some) {
          const DataType type = type_of(turn += 7);
          unsigned op = ++salt;
          Case c;
          do c = case_of(kind, job, type, op_of(op++), count, in_place, static_cast<Reached>(memory), salt);
          while (c.refused() && c.op == ReduceOp::avg);
          body(c);
        }
}

/// body(case) for every type x reduction of a kind, shapes in turn.
template <class F>
void for_every_sum(const Kind& kind, const Job& job, unsigned& salt, F&& body) {
  for (int type = 0; type < kDataTypes; ++type)
    for (int op = 0; op < kReduceOps; ++op)
      for (const std::size_t count : {std::size_t{2}, std::size_t{6}, kCounts - 1}) {
        ++salt;
        body(case_of(kind, job, static_cast<DataType>(type), static_cast<ReduceOp>(op), count, salt % 2 == 0,
                     static_cast<Reached>(salt / 2 % test::kReached), salt));
      }
}

template <class F>
void for_the_product(const Kind& kind, const Job& job, unsigned& salt, F&& body) {
  const int ops = Case{.collective = kind.collective}.reduces() ? kReduceOps : 1;
  for (int type = 0; type < kDataTypes; ++type)
    for (int op = 0; op < ops; ++op)
      for (const bool in_place : {false, true})
        for (int memory = 0; memory < test::kReached; ++memory)
          for (std::size_t count = 0; count < kCounts; ++count)
            body(case_of(kind, job, static_cast<DataType>(type), static_cast<ReduceOp>(op), count, in_place,
                         static_cast<Reached>(memory), ++salt));
}

template <class F>
void for_every_case(const Job& job, F&& body) {
  unsigned salt = 0, turn = static_cast<unsigned>(job.world);
  for (const Kind& kind : test::all_kinds()) {
    if (test::full() && (job.world <= 5 || job.world == 8)) {
      for_the_product(kind, job, salt, body);
    } else {
      for_every_shape(kind, job, ++turn, salt, body);
      if (Case{.collective = kind.collective}.reduces()) for_every_sum(kind, job, salt, body);
    }
  }
}

class EveryCall : public testing::TestWithParam<Job> {};

TEST_P(EveryCall, GivesWhatScalarCodeGives) {
  const Job job = GetParam();
  const auto calls = [&](Session& session) {
    Communicator comm = session.communicator({.blocks = job.blocks});
    test::Ground ground(comm, longest(job));
    for_every_case(job, [&](const Case& c) { test::try_case(comm, ground, c); });
  };
  test::on_threads(job.world, calls, 60, job.threads);
}

std::vector<Job> jobs() {
  if (test::kSanitized) return {{3, 1}, {4, 3}, {2, 2, 2}};
  std::vector<Job> all = {{1, 1}, {2, 1}, {3, 1}, {5, 1}, {7, 1},    {8, 1},
                          {2, 2}, {3, 4}, {5, 3}, {6, 0}, {2, 3, 2}, {3, 0, 3}};
  if (test::full()) {
    for (const Job& more : {Job{4, 1}, {6, 2}, {9, 1}, {12, 1}, {13, 2}, {16, 1}, {16, 3}, {4, 4, 4}})
      all.push_back(more);
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Threads, EveryCall, testing::ValuesIn(jobs()), [](const auto& job) {
  return std::to_string(job.param.world) + "ranks" + std::to_string(job.param.blocks) + "blocks" +
         std::to_string(job.param.threads) + "threads";
});

TEST(EveryCollective, HasAtLeastTwoAlgorithms) {
  for (int c = 0; c < kCollectives; ++c) {
    const auto collective = static_cast<Collective>(c);
    if (Request{.collective = collective}.is_message()) continue;
    EXPECT_GE(test::algorithms_for(collective).size(), 2u) << name_of(collective);
  }
}

}  // namespace
}  // namespace tutti
