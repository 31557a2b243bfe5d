// What is trained and how, as data: the network, the loss, the optimizer.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tutti::trainers {

enum class Activation : std::uint8_t { none, relu, gelu };
enum class Loss : std::uint8_t {
  mean_square,    ///< mean of the squared outputs over rows and features; no labels (the lecture's)
  cross_entropy,  ///< softmax cross-entropy, mean over rows
};
enum class Initialisation : std::uint8_t {
  he,       ///< standard deviation sqrt(2 / inputs)
  lecture,  ///< standard deviation 1 / sqrt(outputs), outputs counted over all ranks
};
enum class OptimizerKind : std::uint8_t { sgd, adamw };
enum class Parallel : std::uint8_t { serial, data, tensor, pipeline };

const char* name_of(Activation activation);
const char* name_of(Loss loss);
const char* name_of(OptimizerKind kind);
const char* name_of(Parallel parallel);
/// Parses the names that name_of prints; nullopt if there is no such name.
std::optional<Activation> parse_activation(std::string_view name);
std::optional<OptimizerKind> parse_optimizer(std::string_view name);
std::optional<Parallel> parse_parallel(std::string_view name);

/// A stack of linear layers: layer l maps widths[l] features to widths[l + 1].
struct MlpSpec {
  std::vector<int> widths{};
  Activation activation = Activation::relu;
  bool activate_last = false;
  bool bias = true;
  Initialisation initialisation = Initialisation::he;

  int layers() const { return static_cast<int>(widths.size()) - 1; }
  Activation activation_after(int layer) const {
    return layer + 1 < layers() || activate_last ? activation : Activation::none;
  }
  std::int64_t parameters() const;
};

struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::adamw;
  double rate = 1e-3;
  double momentum = 0.9;  ///< sgd
  double beta1 = 0.9;     ///< adamw, as the next two
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;  ///< adamw: decoupled; sgd has none
};

/// What the sum of per-row losses is multiplied by to give the mean over `rows` rows.
double loss_scale(Loss loss, std::int64_t rows, int features);

}  // namespace tutti::trainers
