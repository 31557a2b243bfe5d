// The serial trainer's gradients against finite differences, in f64: the root of trust of all other trainer tests.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/trainers_problem.hpp"
#include "trainers/maths_host.hpp"
#include "trainers/serial.hpp"

namespace tutti::trainers {
namespace {

struct Case {
  Activation activation;
  bool activate_last;
  bool bias;
  Loss loss;
};

class Gradient : public testing::TestWithParam<Case> {};

TEST_P(Gradient, OfEveryParameterEqualsTheFiniteDifference) {
  const Case& c = GetParam();
  maths::set_threads(1);
  const TrainerSpec spec{
      .mlp = {.widths = {5, 7, 4, 6}, .activation = c.activation, .activate_last = c.activate_last, .bias = c.bias},
      .loss = c.loss,
      .seed = 2,
      .batch = 9};
  const SmallData<double> data(9, 5, 6);
  std::vector<std::uint32_t> samples(9);
  std::iota(samples.begin(), samples.end(), 0u);
  const Batch<double> batch{&data, samples};
  SerialTrainer<double> trainer(host_maths<double>(), spec);
  Parameters<double>& p = trainer.parameters();
  // Biases start at 0, where a wrong sign would go unseen.
  for (std::size_t i = 0; i < p.count(); ++i)
    if (p.values()[i] == 0) p.values()[i] = 0.1 + 0.01 * static_cast<double>(i % 7);
  trainer.compute_gradients(batch);
  const std::vector<double> gradients(p.gradients(), p.gradients() + p.count());
  double largest = 0;
  for (std::size_t i = 0; i < p.count(); ++i) {
    const double h = 1e-6, value = p.values()[i];
    p.values()[i] = value + h;
    const double above = trainer.compute_gradients(batch);
    p.values()[i] = value - h;
    const double below = trainer.compute_gradients(batch);
    p.values()[i] = value;
    const double expected = (above - below) / (2 * h);
    EXPECT_NEAR(gradients[i], expected, 1e-8 * std::max(1.0, std::fabs(expected))) << "parameter " << i;
    largest = std::max(largest, std::fabs(expected));
  }
  EXPECT_GT(largest, 1e-3) << "gradients too small for the comparison to mean anything";
}

INSTANTIATE_TEST_SUITE_P(AllLayersAndLosses, Gradient,
                         testing::Values(Case{Activation::relu, false, true, Loss::cross_entropy},
                                         Case{Activation::gelu, false, true, Loss::cross_entropy},
                                         Case{Activation::none, false, true, Loss::cross_entropy},
                                         Case{Activation::relu, true, true, Loss::mean_square},
                                         Case{Activation::gelu, true, false, Loss::mean_square},
                                         Case{Activation::gelu, true, true, Loss::mean_square},
                                         Case{Activation::none, false, false, Loss::mean_square}),
                         [](const auto& test) {
                           const Case& c = test.param;
                           return std::string(name_of(c.activation)) + (c.activate_last ? "AlsoLast" : "Between") +
                                  (c.bias ? "Bias" : "NoBias") +
                                  (c.loss == Loss::cross_entropy ? "CrossEntropy" : "MeanSquare");
                         });

}  // namespace
}  // namespace tutti::trainers
