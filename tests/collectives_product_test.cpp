// Every kernel x type x op x in place x memory at the counts where cuts go wrong, against scalar code, bit for bit.
#include <gtest/gtest.h>

#include "tests/collectives_cases.hpp"

namespace tutti {
namespace {

using test::Case;
using test::Reached;

struct Kind {
  Collective collective;
  Algorithm algorithm;
  std::size_t more_bytes = 0;  ///< added to every count: leads past packets, where the one-shot kernel begins
};

constexpr Kind kKinds[] = {
    {Collective::all_reduce, Algorithm::automatic},  {Collective::all_reduce, Algorithm::ring},
    {Collective::all_reduce, Algorithm::one_shot},   {Collective::all_reduce, Algorithm::one_shot, 64 << 10},
    {Collective::all_reduce, Algorithm::two_shot},   {Collective::reduce_scatter, Algorithm::ring},
    {Collective::reduce_scatter, Algorithm::direct}, {Collective::all_gather, Algorithm::ring},
    {Collective::all_gather, Algorithm::direct},     {Collective::broadcast, Algorithm::direct},
    {Collective::send, Algorithm::automatic},
};

/// Whether all types and counts are tried; a few of each otherwise, as every call is dear there.
bool thorough(int world) { return !test::kSanitized && world >= 2 && world <= 4; }

std::vector<std::size_t> counts_for(int world) {
  const auto n = static_cast<std::size_t>(world);
  if (!thorough(world)) return {0, 1, n + 1};
  return {0, 1, 7, n - 1, n, n + 1};
}

bool tried(DataType type, int world) {
  return thorough(world) || type == DataType::f32 || type == DataType::f16 || type == DataType::i8 ||
         type == DataType::u64;
}

template <class F>
void for_every_case(int world, F&& body) {
  unsigned salt = 0;
  for (const Kind& kind : kKinds)
    for (int t = 0; t < kDataTypes; ++t)
      for (int o = 0; o < kReduceOps; ++o)
        for (const bool in_place : {false, true})
          for (const Reached memory : {Reached::peer_mapped, Reached::any, Reached::mixed})
            for (const std::size_t count : counts_for(world)) {
              Case c;
              c.collective = kind.collective;
              c.algorithm = kind.algorithm;
              c.type = static_cast<DataType>(t);
              c.op = static_cast<ReduceOp>(o);
              c.count = count + kind.more_bytes / size_of(c.type);
              c.in_place = in_place;
              c.memory = memory;
              c.salt = ++salt;
              c.root = static_cast<int>(salt) % world;
              const bool one_buffer = c.collective == Collective::broadcast || c.collective == Collective::send;
              if ((!c.reduces() && o > 0) || (one_buffer && in_place) || !tried(c.type, world)) continue;
              body(c);
            }
}

struct Job {
  int world;
  int blocks;
};

class EveryCall : public testing::TestWithParam<Job> {};

TEST_P(EveryCall, GivesWhatScalarCodeGives) {
  const auto [world, blocks] = GetParam();
  test::on_threads(world, [blocks = blocks](Session& session) {
    Communicator comm = session.communicator({.blocks = blocks});
    test::Ground ground(comm, 80 << 10);
    for_every_case(session.size(), [&](const Case& c) { test::try_case(comm, ground, c); });
  });
}

const Job kJobs[] = {{1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {7, 1}, {8, 1}, {3, 4}};
const Job kFewJobs[] = {{3, 1}, {4, 3}};

INSTANTIATE_TEST_SUITE_P(Threads, EveryCall, test::kSanitized ? testing::ValuesIn(kFewJobs) : testing::ValuesIn(kJobs),
                         [](const auto& job) {
                           return std::to_string(job.param.world) + "ranks" + std::to_string(job.param.blocks) +
                                  "blocks";
                         });

}  // namespace
}  // namespace tutti
