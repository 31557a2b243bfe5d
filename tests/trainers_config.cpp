// What a run refuses before it starts, and what its header says.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "trainers/config.hpp"
#include "trainers/fashion_mnist.hpp"

namespace tutti::trainers {
namespace {

/// Checks that the changed preset is refused with a line that holds `part`.
template <class F>
void expect_refusal(Preset preset, int ranks, const std::string& part, F&& change) {
  Config config = preset_config(preset);
  change(config);
  const std::string reason = refusal(config, ranks);
  EXPECT_NE(reason.find(part), std::string::npos) << "got: '" << reason << "', expected: " << part;
  EXPECT_EQ(reason.find('\n'), std::string::npos);
}

TEST(Config, PresetsAreAcceptedInEveryLayoutUpToFourRanks) {
  for (const Preset preset : {Preset::lecture, Preset::fashion})
    for (const Parallel layout : {Parallel::serial, Parallel::data, Parallel::tensor, Parallel::pipeline})
      for (const int ranks : {1, 2, 4}) {
        Config config = preset_config(preset);
        config.parallel = layout;
        EXPECT_EQ(refusal(config, ranks), "") << name_of(preset) << " " << name_of(layout) << " " << ranks;
      }
}

TEST(Config, RefusesWhatCannotTrain) {
  const auto fashion = Preset::fashion;
  expect_refusal(fashion, 4, "--layers: give at least two widths", [](Config& c) { c.trainer.mlp.widths = {784}; });
  expect_refusal(fashion, 4, "--layers: width 0", [](Config& c) { c.trainer.mlp.widths = {784, 0, 10}; });
  expect_refusal(fashion, 4, "784 pixels, the first width is 700", [](Config& c) { c.trainer.mlp.widths = {700, 10}; });
  expect_refusal(fashion, 4, "10 classes, the last width is 11", [](Config& c) { c.trainer.mlp.widths = {784, 11}; });
  expect_refusal(Preset::lecture, 4, "more than 2^31", [](Config& c) { c.trainer.mlp.widths = {1 << 20, 1 << 20}; });
  expect_refusal(fashion, 4, "--batch: 0", [](Config& c) { c.trainer.batch = 0; });
  expect_refusal(fashion, 4, "--epochs: 0", [](Config& c) { c.epochs = 0; });
  expect_refusal(fashion, 4, "--steps: -1", [](Config& c) { c.steps = -1; });
  expect_refusal(fashion, 4, "--micro-batches: 0", [](Config& c) { c.trainer.micro_batches = 0; });
  for (const double rate : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::nan("")})
    expect_refusal(fashion, 4, "--lr: ", [&](Config& c) { c.trainer.optimizer.rate = rate; });
  expect_refusal(fashion, 4, "--momentum: 1", [](Config& c) { c.trainer.optimizer.momentum = 1; });
  expect_refusal(fashion, 4, "--weight-decay: -0.1", [](Config& c) { c.trainer.optimizer.weight_decay = -0.1; });
}

TEST(Config, RefusesMoreStagesThanLayersAndTensorCutsOfNothing) {
  expect_refusal(Preset::fashion, 5, "4 layers for 5 pipeline stages",
                 [](Config& c) { c.parallel = Parallel::pipeline; });
  expect_refusal(Preset::fashion, 3, "divides by 3 ranks", [](Config& c) { c.parallel = Parallel::tensor; });
  Config config = preset_config(Preset::fashion);
  config.parallel = Parallel::tensor;
  config.trainer.mlp.widths = {784, 30, 10};
  EXPECT_EQ(refusal(config, 3), "") << "30 divides by 3";
}

TEST(Config, MissingFilesAreNamedBeforeAnythingRuns) {
  Config config = preset_config(Preset::fashion);
  config.data_folder = "no/such/folder";
  const auto message = [](const Config& c) -> std::string {
    try {
      check_files(c);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_NE(message(config).find("no/such/folder/train-images-idx3-ubyte.gz is not there"), std::string::npos)
      << message(config);
  config = preset_config(Preset::lecture);
  EXPECT_EQ(message(config), "accepted");
  config.json = "no/such/folder/result.json";
  EXPECT_NE(message(config).find("--json: the folder no/such/folder does not exist"), std::string::npos)
      << message(config);
  config.json = ".";
  EXPECT_NE(message(config).find("is a folder"), std::string::npos) << message(config);
}

TEST(Header, SaysWhatIsReplicatedAndHowGradientsAreScaled) {
  Config config = preset_config(Preset::fashion);
  config.parallel = Parallel::tensor;
  std::string text;
  for (const auto& line : header(config, 4, "native", "the CPU")) text.append(line).append("\n");
  EXPECT_NE(text.find("layer 3 (width 10 does not divide by 4); counted once"), std::string::npos) << text;
  EXPECT_NE(text.find("242,762 parameters"), std::string::npos) << text;
  config.parallel = Parallel::data;
  text.clear();
  for (const auto& line : header(config, 4, "native", "the CPU")) text.append(line).append("\n");
  EXPECT_NE(text.find("all-reduce avg; else local sum / global rows, all-reduce sum"), std::string::npos) << text;
}

TEST(Header, SaysWhereItRunsAndNamesNoBackendIfNothingIsSent) {
  Config config = preset_config(Preset::fashion);
  config.parallel = Parallel::data;
  const auto parallel = header(config, 4, "native", "the CPU");
  EXPECT_EQ(parallel.at(0), "fashion, data parallel, 4 ranks, backend native, f32, seed 0");
  EXPECT_EQ(parallel.at(1), "device               the CPU");
  config.parallel = Parallel::serial;
  EXPECT_EQ(header(config, 1, "none", "GPU 0").at(0), "fashion, serial, 1 rank, f32, seed 0");
}

TEST(Decay, CosineFallsFromOneThroughAHalfTowardsZero) {
  EXPECT_EQ(rate_factor(Decay::none, 7, 10), 1);
  EXPECT_EQ(rate_factor(Decay::cosine, 0, 10), 1);
  EXPECT_NEAR(rate_factor(Decay::cosine, 5, 10), 0.5, 1e-15);
  EXPECT_NEAR(rate_factor(Decay::cosine, 10, 10), 0, 1e-15);
  for (int step = 1; step < 10; ++step)
    EXPECT_LT(rate_factor(Decay::cosine, step, 10), rate_factor(Decay::cosine, step - 1, 10)) << step;
}

TEST(SentBytes, FollowTheVolumeTableOnTheLecturesShapes) {
  // 4 layers of 1024, batch 128, f32, 4 ranks; MiB = 2^20.
  Config config = preset_config(Preset::lecture);
  constexpr std::int64_t mib = 1 << 20;
  config.parallel = Parallel::data;  // 2 * 3/4 of 16 MiB, and of the loss
  EXPECT_EQ(sent_bytes(config, 0, 4, 128), 24 * mib + 2 * 3 * 4 / 4);
  config.parallel = Parallel::tensor;  // forward 4 * 3/4 of 0.5 MiB, backward 3 layers' worth
  EXPECT_EQ(sent_bytes(config, 0, 4, 128), 4 * 3 * mib / 8 + 3 * 3 * mib / 8);
  config.parallel = Parallel::pipeline;  // one boundary forward on stage 0, both directions in the middle
  EXPECT_EQ(sent_bytes(config, 0, 4, 128), mib / 2);
  EXPECT_EQ(sent_bytes(config, 1, 4, 128), mib);
  EXPECT_EQ(sent_bytes(config, 0, 1, 128), 0);
}

}  // namespace
}  // namespace tutti::trainers
