// Fitting a machine to measured times: files of bench, the search, and how far the shipped machine is off.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <numeric>
#include <sstream>

#include "bench/fit/described.hpp"
#include "bench/fit/fit_arguments.hpp"
#include "bench/fit/fit_report.hpp"
#include "bench/fit/parameters.hpp"
#include "bench/fit/search.hpp"

namespace tutti::fit {
namespace {

std::string bench_file(const std::string& rows, const std::string& command = "tutti bench") {
  return fmt::format(R"({{"machine": {{"cpu": "A CPU", "cores": 2, "device": "cpu"}}, "command": "{}", "rows": [{}]}})",
                     command, rows);
}

std::string row(const std::string& changes = "", const std::string& algorithm = "ring") {
  return fmt::format(R"({{"collective": "all_reduce", "backend": "native", "algorithm": "{0}", "asked_algorithm": "{0}",
    "memory": "any", "ranks": 2, "bytes": 4096, "count": 1024, "type": "f32", "op": "sum", "root": -1, "in_place": false,
    "time_us": 2.5, "wrong": 0, "placement": "near"{1}}})",
                     algorithm, changes);
}

std::string complaint(const std::string& text) {
  Measurements all;
  try {
    add_measurements(all, text, "run.json");
  } catch (const FileError& error) {
    return error.what();
  }
  return "";
}

TEST(Fit, ReadsWhatBenchHasMeasured) {
  Measurements all;
  add_measurements(all, bench_file(row() + "," + row(R"(, "memory": "peer-mapped", "placement": "far")", "tree")), "a");
  ASSERT_EQ(all.rows.size(), 2u);
  const predict::Question& q = all.rows[0].question;
  EXPECT_EQ(q.c.operation, bench::Operation::all_reduce);
  EXPECT_EQ(q.algorithm, Algorithm::ring);
  EXPECT_EQ(q.memory, bench::MemoryKind::any);
  EXPECT_EQ(q.c.count, 1024u);
  EXPECT_DOUBLE_EQ(all.rows[0].seconds, 2.5e-6);
  EXPECT_EQ(all.rows[1].placement, bench::Placement::far);
  EXPECT_EQ(of_placement(all.rows, bench::Placement::near).size(), 1u);
}

TEST(Fit, TellsWhichRowsItLeavesOutAndWhy) {
  Measurements all;
  add_measurements(all, bench_file(row(R"(, "placement": "mixed")") + "," + row(R"(, "asked_algorithm": "auto")")),
                   "a");
  EXPECT_TRUE(all.rows.empty());
  ASSERT_EQ(all.left_out.size(), 2u);
  EXPECT_NE(all.left_out[0].find("now near, now far"), std::string::npos) << all.left_out[0];
  EXPECT_NE(all.left_out[1].find("auto"), std::string::npos) << all.left_out[1];
}

TEST(Fit, RefusesFilesThatSayNothingOfFreshCallsOnOneMachine) {
  EXPECT_NE(complaint("{").find("run.json: no file of bench --json"), std::string::npos);
  EXPECT_NE(complaint(bench_file(row(), "tutti bench --steady")).find("--steady"), std::string::npos);
  EXPECT_NE(complaint(bench_file(row(R"(, "wrong": 3)"))).find("its results were wrong"), std::string::npos);
  EXPECT_NE(complaint(bench_file(row("", "rings"))).find("does not know it"), std::string::npos);
  Measurements all;
  add_measurements(all, bench_file(row()), "a");
  std::string other = bench_file(row());
  other.replace(other.find("A CPU"), 5, "B CPU");
  EXPECT_THROW(add_measurements(all, other, "b"), FileError);
}

TEST(Fit, EveryOtherSizeOfSomeCollectivesIsFittedAndNoRowIsInTwoParts) {
  Measurements all;
  std::string rows;
  for (const char* collective : {"all_reduce", "reduce"})
    for (int bytes = 8; bytes <= 64; bytes *= 2)
      rows += fmt::format("{}{}", rows.empty() ? "" : ",",
                          row(fmt::format(R"(, "bytes": {}, "collective": "{}", "root": 0)", bytes, collective)));
  add_measurements(all, bench_file(rows), "a");
  const Parts parts = split(all.rows, {bench::Operation::all_reduce});
  ASSERT_EQ(parts.fitted.size(), 2u);
  EXPECT_EQ(parts.fitted[0].question.c.bytes, 16u);
  EXPECT_EQ(parts.fitted[1].question.c.bytes, 64u);
  EXPECT_EQ(parts.sizes.size(), 2u);
  EXPECT_EQ(parts.collectives.size(), 4u);
}

TEST(Search, FindsTheLeastValueOfAFunctionWithValleysAndCorners) {
  const auto valley = [](std::span<const double> x) {
    return std::abs(std::log(x[0] / 300)) + 5 * std::abs(std::log(x[0] * x[1] / 600)) + std::abs(std::log(x[2] / 0.01));
  };
  const Variable variables[] = {{10, 0.1, 1e4}, {10, 0.1, 1e4}, {1, 0.05, 10}};
  const std::vector<double> best = least(valley, variables, {.last_step = 1.005});
  EXPECT_NEAR(best[0], 300, 30);
  EXPECT_NEAR(best[1], 2, 0.2);
  EXPECT_DOUBLE_EQ(best[2], 0.05) << "at the end of what it may be";
}

TEST(Search, KeepsToItsEvaluations) {
  int count = 0;
  const Variable variables[] = {{1, 1e-3, 1e3}, {1, 1e-3, 1e3}};
  least([&](std::span<const double> x) { return ++count, x[0] + x[1]; }, variables, {.evaluations = 50});
  EXPECT_LE(count, 52);
}

/// The times that a machine would have, as if measured on it.
std::vector<Measured> as_if_measured(const timed::Machine& machine) {
  std::vector<Measured> rows;
  for (const bench::Operation operation : {bench::Operation::all_reduce, bench::Operation::broadcast})
    for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree})
      for (const int ranks : {2, 4})
        for (const std::size_t bytes : {std::size_t{64}, std::size_t{8} << 10, std::size_t{1} << 20}) {
          const bench::Case c = bench::case_of(bytes, {.operation = operation, .ranks = ranks});
          const predict::Question question{.c = c, .algorithm = algorithm};
          rows.push_back({question, predict::predict(machine, question).seconds, bench::Placement::near});
        }
  return rows;
}

TEST(Fit, FindsTheMachineBehindTimesThatOneWouldHave) {
  const timed::Machine guess = first_guess(2, {1 << 20, 32 << 20}, bench::Placement::near);
  timed::Machine truth = guess;
  truth.launch = 90;
  truth.flag = 75;
  truth.handover = 2300;
  truth.peer_store = 2;
  truth.memory_load = 6;
  const std::vector<Measured> rows = as_if_measured(truth);
  const Fit found = fit(guess, rows, 800);
  EXPECT_GT(found.before, 0.15);
  EXPECT_LT(found.after, 0.05);
  EXPECT_NEAR(found.machine.handover, truth.handover, 0.15 * truth.handover);
  EXPECT_NEAR(found.machine.peer_store, truth.peer_store, 0.25 * truth.peer_store);
}

TEST(Fit, WritesAMachineThatPredictReads) {
  const timed::Machine guess = first_guess(2, {1 << 20, 32 << 20}, bench::Placement::far);
  Fit fitted{.machine = guess, .before = 1, .after = 0.5, .numbers = {}};
  for (const Parameter& each : parameters())
    if (is_fitted(guess, each)) fitted.numbers.push_back({each.name, guess.*each.member, 0.01});
  Measurements measurements;
  measurements.cpu = "A CPU";
  measurements.cores = 2;
  const std::string text = predict::write_machine(
      described(fitted, measurements, "mine-far", bench::Placement::far, "2026-11-30", {.rows = 7, .median = 0.1}));
  const timed::Machine read = predict::read_machine(text, "mine-far.json").machine;
  EXPECT_EQ(read.last_caches, 2);
  EXPECT_DOUBLE_EQ(read.handover, guess.handover);
  EXPECT_DOUBLE_EQ(read.streams_above, guess.streams_above);
  EXPECT_NE(text.find("measured: 2026-11-30"), std::string::npos);
}

TEST(Fit, WrongArgumentsAreToldWhatIsRight) {
  EXPECT_THROW(parse_fit({"--fit-on", "all_reduced"}), bench::ArgumentError);
  EXPECT_THROW(parse_fit({"--judge", "a.json"}), bench::ArgumentError);
  EXPECT_THROW(parse_fit({"--core-cache", "much"}), bench::ArgumentError);
  EXPECT_THROW(parse_fit({"--name", "/nowhere/at/all"}), bench::ArgumentError);
  EXPECT_EQ(parse_fit({"--fit-on", "reduce,gather", "a.json"}).fitted.size(), 2u);
}

/// What was measured on the machine that bench/machines/epyc2-*.json describe: a part of the run in docs.
Measurements measured_rows(bench::Placement placement) {
  return read_measurements({fmt::format("{}/data/bench_epyc2_{}.json", TUTTI_TESTS, name_of(placement))});
}

void expect_within(bench::Placement placement, int ranks, double most) {
  const Measurements all = measured_rows(placement);
  std::vector<Measured> rows;
  for (const Measured& row : of_placement(all.rows, placement))
    if (row.question.c.ranks == ranks) rows.push_back(row);
  ASSERT_GT(rows.size(), 100u);
  const timed::Machine machine = predict::machine_for(fmt::format("epyc2-{}", name_of(placement))).machine;
  const Summary summary = summary_of(judge(machine, rows));
  EXPECT_LE(summary.median, most) << fmt::format("{} ranks, {}", ranks, name_of(placement));
}

TEST(Accuracy, HalfOfAllRowsOfTwoFarRanksAreWithinTwentyPercent) { expect_within(bench::Placement::far, 2, 0.2); }
TEST(Accuracy, HalfOfAllRowsOfFourRanksOnFarCoresAreWithinTwentyPercent) {
  expect_within(bench::Placement::far, 4, 0.2);
}
TEST(Accuracy, HalfOfAllRowsOfTwoNearRanksAreWithinTwentyPercent) { expect_within(bench::Placement::near, 2, 0.2); }
TEST(Accuracy, HalfOfAllRowsOfFourRanksOnNearCoresAreWithinTwentyPercent) {
  expect_within(bench::Placement::near, 4, 0.2);
}

}  // namespace
}  // namespace tutti::fit
