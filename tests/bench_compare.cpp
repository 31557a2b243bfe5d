// The demo's verdict on training runs.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <limits>
#include <sstream>

#include "bench/demo_compare.hpp"

namespace tutti::bench {
namespace {

TrainingRun run_named(const char* name) {
  TrainingRun run{name, {}, 0.88, 12.5};
  for (int i = 0; i < 20; ++i) run.losses.push_back(2.3 - 0.05 * i);
  return run;
}

TEST(Compare, RunsThatAgreePass) {
  TrainingRun near = run_named("data");
  near.losses[7] *= 1.0009;
  near.accuracy -= 0.0049;
  const Comparison comparison = compare({run_named("serial"), near});
  EXPECT_TRUE(comparison.good) << comparison.text;
  EXPECT_NE(comparison.text.find("88.00 %"), std::string::npos) << comparison.text;
  EXPECT_NE(comparison.text.find("9.0e-04"), std::string::npos) << comparison.text;
}

TEST(Compare, PrintsColumnsThatLineUp) {
  const Comparison comparison = compare({run_named("serial"), run_named("data")});
  std::istringstream lines(comparison.text);
  std::string titles, row;
  while (std::getline(lines, titles) && titles.find("test accuracy") == std::string::npos) continue;
  ASSERT_TRUE(std::getline(lines, row));
  EXPECT_NE(titles.find("test accuracy  "), std::string::npos) << titles;
  EXPECT_EQ(titles.find("test accuracy") + 13, row.find(" %") + 2) << titles << "\n" << row;
  EXPECT_EQ(titles.find("off by") + 6, row.find(" - ") + 2) << titles << "\n" << row;
  EXPECT_EQ(titles.size(), row.find(" s ") + 2) << titles << "\n" << row;
}

TEST(Compare, NoLineEndsInABlank) {
  std::istringstream lines(compare({run_named("serial"), run_named("data")}).text);
  for (std::string line; std::getline(lines, line);)
    EXPECT_TRUE(line.empty() || line.back() != ' ') << "'" << line << "'";
}

TEST(Compare, OneLossTooFarOffFails) {
  TrainingRun off = run_named("data");
  off.losses[19] *= 1.0011;
  EXPECT_FALSE(compare({run_named("serial"), off}).good);
}

TEST(Compare, ALossThatIsNoNumberOrMissingFails) {
  TrainingRun off = run_named("data");
  off.losses[3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(compare({run_named("serial"), off}).good);
  TrainingRun shorter = run_named("data");
  shorter.losses.pop_back();
  EXPECT_FALSE(compare({run_named("serial"), shorter}).good);
}

TEST(Compare, AnAccuracyTooFarOffOrTooLowFails) {
  TrainingRun off = run_named("data");
  off.accuracy -= 0.0051;
  EXPECT_FALSE(compare({run_named("serial"), off}).good);
  TrainingRun low = run_named("serial"), also_low = run_named("data");
  low.accuracy = also_low.accuracy = 0.8749;
  EXPECT_FALSE(compare({low, also_low}).good);
}

TEST(Compare, AFileThatIsNoTrainingRunIsNamed) {
  const std::string name = testing::TempDir() + "/bench_compare.json";
  std::ofstream(name) << R"({"config": {"parallel": "data"}, "losses": [1.0], "accuracy": 0.9, "seconds": 3.5})";
  const TrainingRun run = read_training_run(name);
  EXPECT_EQ(run.name, "data");
  EXPECT_EQ(run.losses, std::vector<double>{1.0});
  EXPECT_EQ(run.accuracy, 0.9);
  for (const char* content : {"", "{", "{}", R"({"config": {"parallel": "data"}, "losses": [], "accuracy": null})"}) {
    std::ofstream(name) << content;
    try {
      read_training_run(name);
      ADD_FAILURE() << "accepted: " << content;
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
    }
  }
  std::remove(name.c_str());
  EXPECT_THROW(read_training_run(name), std::runtime_error);
}

}  // namespace
}  // namespace tutti::bench
