#include "trainers/spec.hpp"

#include <array>
#include <string>

namespace tutti::trainers {
namespace {

constexpr std::array kActivations = {"none", "relu", "gelu"};
constexpr std::array kLosses = {"mean-square", "cross-entropy"};
constexpr std::array kOptimizers = {"sgd", "adamw"};
constexpr std::array kParallels = {"serial", "data", "tensor", "pipeline"};

template <class E, std::size_t n>
std::optional<E> parse(const std::array<const char*, n>& names, std::string_view name) {
  for (std::size_t i = 0; i < n; ++i)
    if (name == names[i]) return static_cast<E>(i);
  return std::nullopt;
}

}  // namespace

const char* name_of(Activation activation) { return kActivations[static_cast<std::size_t>(activation)]; }
const char* name_of(Loss loss) { return kLosses[static_cast<std::size_t>(loss)]; }
const char* name_of(OptimizerKind kind) { return kOptimizers[static_cast<std::size_t>(kind)]; }
const char* name_of(Parallel parallel) { return kParallels[static_cast<std::size_t>(parallel)]; }
std::optional<Activation> parse_activation(std::string_view name) { return parse<Activation>(kActivations, name); }
std::optional<OptimizerKind> parse_optimizer(std::string_view name) { return parse<OptimizerKind>(kOptimizers, name); }
std::optional<Parallel> parse_parallel(std::string_view name) { return parse<Parallel>(kParallels, name); }

std::int64_t MlpSpec::parameters() const {
  std::int64_t count = 0;
  for (int l = 0; l < layers(); ++l)
    count += static_cast<std::int64_t>(widths[static_cast<std::size_t>(l)] + (bias ? 1 : 0)) *
             widths[static_cast<std::size_t>(l) + 1];
  return count;
}

double loss_scale(Loss loss, std::int64_t rows, int features) {
  if (rows == 0) return 0;
  const double terms = static_cast<double>(rows) * (loss == Loss::mean_square ? features : 1);
  return 1.0 / terms;
}

}  // namespace tutti::trainers
