#include "bench/demo_compare.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace tutti::bench {
namespace {

constexpr std::size_t kLosses = 20;
constexpr double kLossTolerance = 1e-3;
constexpr double kAccuracyTolerance = 0.005;
constexpr double kLeastAccuracy = 0.875;

// The largest relative difference of the first losses; infinite if there are too few, or one is not a number.
double loss_difference(const TrainingRun& run, const TrainingRun& reference) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  if (run.losses.size() < kLosses || reference.losses.size() < kLosses) return infinite;
  double worst = 0;
  for (std::size_t i = 0; i < kLosses; ++i) {
    const double difference = std::abs(run.losses[i] - reference.losses[i]) / std::abs(reference.losses[i]);
    if (!std::isfinite(difference)) return infinite;
    worst = std::max(worst, difference);
  }
  return worst;
}

}  // namespace

TrainingRun read_training_run(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error(fmt::format("cannot read '{}'", file));
  try {
    const nlohmann::json json = nlohmann::json::parse(in);
    return {json.at("config").at("parallel"), json.at("losses"), json.at("accuracy"), json.at("seconds")};
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(
        fmt::format("'{}' is not the --json file of a training run with a test set: {}", file, error.what()));
  }
}

Comparison compare(const std::vector<TrainingRun>& runs) {
  const TrainingRun& reference = runs.front();
  Comparison result;
  result.good = true;
  std::string& text = result.text;
  text += fmt::format("Fashion-MNIST: do the parallel trainers do what the {} one does?\n\n", reference.name);
  text += fmt::format("  {:<10}{:>14}{:>25}{:>10}\n", "", "test accuracy", "first 20 losses off by", "time");
  for (const TrainingRun& run : runs) {
    const double off = loss_difference(run, reference);
    std::string verdict;
    if (!(off <= kLossTolerance)) verdict += "  LOSSES DIFFER";
    if (!(std::abs(run.accuracy - reference.accuracy) <= kAccuracyTolerance)) verdict += "  ACCURACY DIFFERS";
    if (!(run.accuracy >= kLeastAccuracy)) verdict += "  TOO INACCURATE";
    result.good = result.good && verdict.empty();
    text += fmt::format("  {:<10}{:>12.2f} %{:>25}{:>8.1f} s{}\n", run.name, 100 * run.accuracy,
                        &run == &reference ? "-" : fmt::format("{:.1e}", off), run.seconds,
                        verdict.empty() ? "  ok" : verdict);
  }
  text += "\n  The first 20 losses, step by step:\n";
  const auto loss = [](const TrainingRun& run, std::size_t i) {
    return i < run.losses.size() ? fmt::format("{:>11.6f}", run.losses[i]) : fmt::format("{:>11}", "-");
  };
  text += "  step";
  for (const TrainingRun& run : runs) text += fmt::format("{:>11}", run.name);
  text += "\n";
  for (std::size_t i = 0; i < kLosses; ++i) {
    text += fmt::format("  {:>4}", i + 1);
    for (const TrainingRun& run : runs) text += loss(run, i);
    text += "\n";
  }
  text += result.good ? fmt::format(
                            "\n  All agree: losses within {:g} of {}, accuracy within {:g} points and at least "
                            "{:g} %.\n",
                            kLossTolerance, reference.name, 100 * kAccuracyTolerance, 100 * kLeastAccuracy)
                      : fmt::format(
                            "\n  THEY DO NOT AGREE: losses must be within {:g} of {}, accuracy within {:g} points "
                            "and at least {:g} %.\n",
                            kLossTolerance, reference.name, 100 * kAccuracyTolerance, 100 * kLeastAccuracy);
  return result;
}

}  // namespace tutti::bench
