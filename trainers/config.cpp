#include "trainers/config.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "trainers/fashion_mnist.hpp"

namespace tutti::trainers {

const char* name_of(Preset preset) { return preset == Preset::lecture ? "lecture" : "fashion"; }

const char* name_of(Decay decay) { return decay == Decay::cosine ? "cosine" : "none"; }

double rate_factor(Decay decay, std::int64_t step, std::int64_t steps) {
  if (decay == Decay::none) return 1;
  return 0.5 * (1 + std::cos(std::numbers::pi * static_cast<double>(step) / static_cast<double>(steps)));
}

Config preset_config(Preset preset) {
  Config config;
  config.preset = preset;
  TrainerSpec& t = config.trainer;
  if (preset == Preset::lecture) {
    t.mlp = {.widths = {1024, 1024, 1024, 1024, 1024},
             .activation = Activation::gelu,
             .activate_last = true,
             .bias = false,
             .initialisation = Initialisation::lecture};
    t.loss = Loss::mean_square;
    t.optimizer.weight_decay = 0.01;
    t.schedule = ScheduleKind::gpipe;
    config.epochs = 1;
  } else {
    t.mlp.widths = {784, 256, 128, 64, 10};
    t.loss = Loss::cross_entropy;
    config.epochs = 10;
    config.data_folder = kFashionMnistFolder;
  }
  return config;
}

namespace {

std::string widths_text(const std::vector<int>& widths) { return fmt::format("{}", fmt::join(widths, "-")); }

std::string refuse_layout(const Config& config, int ranks) {
  const MlpSpec& mlp = config.trainer.mlp;
  if (config.parallel == Parallel::pipeline && mlp.layers() < ranks)
    return fmt::format(
        "--layers: {} has {} layers for {} pipeline stages; give at least one layer per rank, or use "
        "fewer ranks",
        widths_text(mlp.widths), mlp.layers(), ranks);
  if (config.parallel == Parallel::tensor && ranks > 1) {
    for (int l = 0; l < mlp.layers(); ++l)
      if (mlp.widths[static_cast<std::size_t>(l) + 1] % ranks == 0) return {};
    return fmt::format(
        "--layers: no width after the first in {} divides by {} ranks, so there is nothing to cut; "
        "change a width or the number of ranks",
        widths_text(mlp.widths), ranks);
  }
  return {};
}

}  // namespace

std::string refusal(const Config& config, int ranks) {
  const TrainerSpec& t = config.trainer;
  const auto positive = [](double x) { return std::isfinite(x) && x > 0; };
  const auto fraction = [](double x) { return x >= 0 && x < 1; };
  if (t.mlp.widths.size() < 2) return "--layers: give at least two widths, such as 784-256-10";
  for (const int width : t.mlp.widths)
    if (width < 1 || width > 1 << 20) return fmt::format("--layers: width {} is outside 1 .. {}", width, 1 << 20);
  if (t.mlp.parameters() > std::int64_t{1} << 31)
    return fmt::format("--layers: {} parameters are more than 2^31; use smaller widths", t.mlp.parameters());
  if (config.preset == Preset::fashion && t.mlp.widths.front() != 784)
    return fmt::format("--layers: Fashion-MNIST images have 784 pixels, the first width is {}", t.mlp.widths.front());
  if (config.preset == Preset::fashion && t.mlp.widths.back() != 10)
    return fmt::format("--layers: Fashion-MNIST has 10 classes, the last width is {}", t.mlp.widths.back());
  if (t.batch < 1 || t.batch > 60000) return fmt::format("--batch: {} is outside 1 .. 60000", t.batch);
  if (config.epochs < 1 || config.epochs > 1000000)
    return fmt::format("--epochs: {} is outside 1 .. 1000000", config.epochs);
  if (config.steps < 0) return fmt::format("--steps: {} is negative", config.steps);
  if (t.micro_batches < 1 || t.micro_batches > 60000)
    return fmt::format("--micro-batches: {} is outside 1 .. 60000", t.micro_batches);
  if (!positive(t.optimizer.rate)) return fmt::format("--lr: {} is not a positive number", t.optimizer.rate);
  if (!fraction(t.optimizer.momentum)) return fmt::format("--momentum: {} is outside 0 .. 1", t.optimizer.momentum);
  if (!fraction(t.optimizer.weight_decay))
    return fmt::format("--weight-decay: {} is outside 0 .. 1", t.optimizer.weight_decay);
  return refuse_layout(config, ranks);
}

}  // namespace tutti::trainers
