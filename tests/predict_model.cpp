// Predictions against what can be reckoned by hand, and against each other.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bench/algorithms.hpp"
#include "bench/predict/links.hpp"
#include "bench/predict/machine_file.hpp"
#include "bench/predict/prediction.hpp"
#include "kernels/kernels.hpp"

namespace tutti::predict {
namespace {

using bench::Case;
using bench::case_of;
using bench::MemoryKind;
using bench::Operation;

constexpr double kNone = 1e9;  // GB/s: so fast that nothing takes time

/// A switch and nothing that costs time but what a test adds.
timed::Machine ideal(int ranks) {
  timed::Machine m;
  m.name = "ideal";
  m.ranks = ranks;
  m.link = m.memory = m.block = m.packet_block = kNone;
  return m;
}

Question ask(Operation operation, int ranks, std::size_t bytes, Algorithm algorithm) {
  return {.c = case_of(bytes, {.operation = operation, .ranks = ranks}), .algorithm = algorithm};
}

double nanoseconds(const timed::Machine& machine, const Question& question) {
  return predict(machine, question).seconds * 1e9;
}

TEST(Prediction, OfAFreeMachineIsItsFlagsTimesTheSteps) {
  timed::Machine m = ideal(8);
  m.flag = 1000;
  // A line for each rank and block: everything fits one slice.
  const std::size_t bytes = 1024;
  EXPECT_NEAR(nanoseconds(m, ask(Operation::all_reduce, 8, bytes, Algorithm::packets)), 1000, 1);
  EXPECT_NEAR(nanoseconds(m, ask(Operation::all_reduce, 8, bytes, Algorithm::two_shot)), 2000, 1);
  EXPECT_NEAR(nanoseconds(m, ask(Operation::all_gather, 8, bytes, Algorithm::bruck)), 4000, 1);
  EXPECT_NEAR(nanoseconds(m, ask(Operation::all_reduce, 8, bytes, Algorithm::recursive_doubling)), 4000, 1);
  EXPECT_NEAR(nanoseconds(m, ask(Operation::all_reduce, 8, bytes, Algorithm::ring)), 15000, 1);
  EXPECT_NEAR(nanoseconds(m, ask(Operation::barrier, 8, 0, Algorithm::dissemination)), 3000, 1);
}

TEST(Prediction, OfAMachineWithoutLatenciesIsItsBytesOverTheRateOfTheLink) {
  timed::Machine m = ideal(4);
  m.link = 100;
  const std::size_t bytes = 64 << 20;
  const double s = static_cast<double>(bytes);
  const auto time = [&](Operation operation, Algorithm algorithm) {
    return nanoseconds(m, ask(operation, 4, bytes, algorithm));
  };
  // Within a percent: flags and the ends of pipelines.
  EXPECT_NEAR(time(Operation::all_reduce, Algorithm::two_shot), 1.5 * s / 100, 0.01 * s / 100);
  EXPECT_NEAR(time(Operation::all_reduce, Algorithm::one_shot), 3 * s / 100, 0.03 * s / 100);
  EXPECT_NEAR(time(Operation::all_gather, Algorithm::direct), 0.75 * s / 100, 0.01 * s / 100);
  EXPECT_NEAR(time(Operation::reduce_scatter, Algorithm::direct), 0.75 * s / 100, 0.01 * s / 100);
  EXPECT_NEAR(time(Operation::all_to_all, Algorithm::direct), 0.75 * s / 100, 0.01 * s / 100);
  EXPECT_NEAR(time(Operation::broadcast, Algorithm::direct), 3 * s / 100, 0.03 * s / 100);
  EXPECT_NEAR(time(Operation::send_recv, Algorithm::direct), s / 100, 0.01 * s / 100);
}

TEST(Prediction, OfPairsOfTheirOwnIsTheirPartOverTheRateOfAPair) {
  timed::Machine m = ideal(4);
  m.wiring = timed::Wiring::direct;
  m.pair = 50;
  const std::size_t bytes = 64 << 20;
  const double each = static_cast<double>(bytes) / 4;  // that crosses every pair in each of two directions
  EXPECT_NEAR(nanoseconds(m, ask(Operation::all_gather, 4, bytes, Algorithm::direct)), each / 50, 0.01 * each / 50);
  EXPECT_NEAR(predict(m, ask(Operation::all_gather, 4, bytes, Algorithm::direct)).wire_bytes, each, 0.01 * each);
}

TEST(Prediction, OfSomethingSharedIsTheBytesOfAllTogether) {
  timed::Machine m = ideal(4);
  m.wiring = timed::Wiring::shared;
  m.link = 100;
  const std::size_t bytes = 64 << 20;
  const double all = 3 * static_cast<double>(bytes);
  const Prediction gather = predict(m, ask(Operation::all_gather, 4, bytes, Algorithm::direct));
  EXPECT_NEAR(gather.seconds * 1e9, all / 100, 0.01 * all / 100);
  EXPECT_NEAR(gather.wire_bytes, all, 0.01 * all);
  EXPECT_NEAR(gather.limit * 1e9, all / 100, 1e-6 * all);
}

/// Every algorithm of every collective on this machine: what must hold of each.
struct Each {
  Operation operation;
  Algorithm algorithm;
};
std::vector<Each> everything() {
  std::vector<Each> all;
  for (int i = 0; i < bench::kOperations; ++i)
    for (const Algorithm algorithm : bench::algorithms_of(static_cast<Operation>(i)))
      all.push_back({static_cast<Operation>(i), algorithm});
  return all;
}

TEST(Prediction, TakesLongerForMoreBytesAndOnASlowerMachine) {
  const timed::Machine machine = machine_for("h100x8").machine;
  timed::Machine slower = machine;
  slower.link /= 2;
  slower.flag *= 2;
  for (const Each& each : everything()) {
    if (each.operation == Operation::barrier) continue;
    SCOPED_TRACE(std::string(bench::name_of(each.operation)) + " by " + name_of(each.algorithm));
    double last = 0;
    for (const std::size_t bytes : {std::size_t{512}, std::size_t{16} << 10, std::size_t{1} << 20}) {
      if (each.algorithm == Algorithm::packets && bytes > 32 << 10) continue;
      const double time = nanoseconds(machine, ask(each.operation, 8, bytes, each.algorithm));
      EXPECT_GE(time, 0.99 * last) << bytes << " bytes";  // more blocks may make more bytes no slower
      EXPECT_GT(nanoseconds(slower, ask(each.operation, 8, bytes, each.algorithm)), time) << bytes << " bytes";
      last = time;
    }
  }
}

TEST(Prediction, NeverBeatsTheLeastThatMustCrossTheLinks) {
  for (const char* const name : {"h100x8", "a100x4", "pcie5x8"}) {
    const timed::Machine machine = machine_for(name).machine;
    for (const Each& each : everything())
      for (const MemoryKind memory : {MemoryKind::peer_mapped, MemoryKind::any}) {
        const std::size_t bytes = each.algorithm == Algorithm::packets ? 32 << 10 : 2 << 20;
        Question question = ask(each.operation, machine.ranks, bytes, each.algorithm);
        question.memory = memory;
        const Prediction prediction = predict(machine, question);
        EXPECT_LE(prediction.limit, prediction.seconds)
            << name << ": " << bench::name_of(each.operation) << " by " << name_of(each.algorithm);
        EXPECT_GT(prediction.seconds, 0);
      }
  }
}

TEST(Prediction, CountsTheBytesThatTheKernelsFormulaTells) {
  // Of one slice, as the formulas have it, with flags and tags small beside the data.
  timed::Machine m = ideal(8);
  for (const Each& each : everything()) {
    if (each.operation == Operation::barrier || each.algorithm == Algorithm::packets) continue;
    const std::size_t bytes = 64 << 10;
    Question question = ask(each.operation, 8, bytes, each.algorithm);
    question.blocks = each.algorithm == Algorithm::tree && each.operation == Operation::all_reduce ? 2 : 1;
    const Prediction prediction = predict(m, question);
    const double flags = 64 * 64;  // of a rank, at most: some words to each peer in each step
    EXPECT_GE(prediction.wire_bytes, 0.99 * prediction.cost.bytes)
        << bench::name_of(each.operation) << " by " << name_of(each.algorithm);
    EXPECT_LE(prediction.wire_bytes, 1.01 * prediction.cost.bytes + flags)
        << bench::name_of(each.operation) << " by " << name_of(each.algorithm);
  }
}

TEST(Prediction, RunsAsManyBlocksAsTheLibraryWould) {
  const timed::Machine machine = machine_for("h100x8").machine;
  EXPECT_EQ(predict(machine, ask(Operation::all_reduce, 8, 4 << 10, Algorithm::two_shot)).blocks, 1);
  EXPECT_EQ(predict(machine, ask(Operation::all_reduce, 8, 64 << 10, Algorithm::two_shot)).blocks, 11);
  EXPECT_EQ(predict(machine, ask(Operation::all_reduce, 8, 16 << 20, Algorithm::two_shot)).blocks, 32);
  Question question = ask(Operation::all_reduce, 8, 16 << 20, Algorithm::two_shot);
  question.blocks = 8;
  EXPECT_EQ(predict(machine, question).blocks, 8);
}

TEST(Prediction, ChoosesAsTheLibraryDoes) {
  const timed::Machine machine = machine_for("h100x8").machine;
  EXPECT_EQ(predict(machine, ask(Operation::all_reduce, 8, 32 << 10, Algorithm::automatic)).algorithm,
            Algorithm::packets);
  EXPECT_EQ(predict(machine, ask(Operation::all_reduce, 8, 64 << 10, Algorithm::automatic)).algorithm,
            Algorithm::two_shot);
  EXPECT_THROW(predict(machine, ask(Operation::all_reduce, 8, 64 << 10, Algorithm::packets)), Error);
}

TEST(Prediction, IsTheSameEveryTime) {
  const timed::Machine machine = machine_for("h100x8").machine;
  const Question question = ask(Operation::all_reduce, 8, 1 << 20, Algorithm::tree);
  EXPECT_EQ(predict(machine, question).seconds, predict(machine, question).seconds);
}

TEST(Prediction, OfALongCallIsWhatRunningAllOfItTells) {
  const timed::Machine machine = machine_for("h100x8").machine;
  for (const Algorithm algorithm :
       {Algorithm::ring, Algorithm::tree, Algorithm::recursive_doubling, Algorithm::two_shot, Algorithm::one_shot}) {
    Question reckoned = ask(Operation::all_reduce, 8, 160 << 20, algorithm), whole = reckoned;
    whole.whole_up_to = whole.c.bytes;
    const Prediction a = predict(machine, reckoned), b = predict(machine, whole);
    EXPECT_NEAR(a.seconds / b.seconds, 1, 0.02) << name_of(algorithm);
    EXPECT_NEAR(a.wire_bytes / b.wire_bytes, 1, 0.001) << name_of(algorithm);
    EXPECT_EQ(a.limit, b.limit);
    EXPECT_EQ(a.cost.bytes, b.cost.bytes);
  }
}

TEST(Prediction, BarelyChangesIfOneBlockStandsForAll) {
  const timed::Machine machine = machine_for("h100x8").machine;
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree, Algorithm::two_shot})
    for (const std::size_t bytes : {std::size_t{1} << 20, std::size_t{16} << 20}) {
      Question whole = ask(Operation::all_reduce, 32, bytes, algorithm), folded = whole;
      folded.folded_above = 8;
      const double ratio = predict(machine, folded).seconds / predict(machine, whole).seconds;
      RecordProperty(std::string(name_of(algorithm)) + std::to_string(bytes), std::to_string(ratio));
      EXPECT_GT(ratio, 0.8) << name_of(algorithm) << ", " << bytes << " bytes";
      EXPECT_LT(ratio, 1.25) << name_of(algorithm) << ", " << bytes << " bytes";
    }
}

// Virtual time sends nothing of a CPU's over a link: a rate that its file names would be a limit above the time.
TEST(Prediction, OfACpuHasNoLinksToLimitIt) {
  timed::Machine m = ideal(4);
  const Case c = case_of(1 << 20, {.operation = Operation::all_reduce, .ranks = 4});
  EXPECT_GT(least_seconds(m, c), 0);
  m.is_gpu = false;
  EXPECT_EQ(least_seconds(m, c), 0);
}

// Steps are what a thousand ranks are about: twice the ranks, twice the ring's time, one more level of the tree.
TEST(Prediction, OfAThousandRanksGrowsAsTheStepsDo) {
#ifdef __SANITIZE_ADDRESS__
  constexpr int kMany = 512;
#else
  constexpr int kMany = 1024;
#endif
  const timed::Machine machine = machine_for("h100x8").machine;
  const auto time = [&](int ranks, Algorithm algorithm) {
    return predict(machine, ask(Operation::all_reduce, ranks, 64 << 10, algorithm)).seconds;
  };
  const double ring = time(kMany, Algorithm::ring), tree = time(kMany, Algorithm::tree);
  EXPECT_NEAR(ring / time(kMany / 2, Algorithm::ring), 2, 0.1);
  EXPECT_LT(tree / time(kMany / 2, Algorithm::tree), 1.25);
  EXPECT_LT(tree, ring / 10);
}

}  // namespace
}  // namespace tutti::predict
