#include "bench/fit/search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace tutti::fit {

std::vector<double> least(const std::function<double(std::span<const double>)>& function,
                          std::span<const Variable> variables, const SearchLimits& limits,
                          const std::function<void(int, double)>& progress) {
  constexpr double kGrow = 1.5, kShrink = 0.5;  // of a step's logarithm
  constexpr double kHelped = 0.99;
  std::vector<double> best;
  for (const Variable& each : variables) best.push_back(std::clamp(each.value, each.least, each.most));
  int evaluations = 1;
  double value = function(best);
  const auto better = [&](const std::vector<double>& candidate) {
    ++evaluations;
    const double its = function(candidate);
    if (!(its < value)) return false;
    best = candidate;
    value = its;
    return true;
  };
  const auto moved = [&](const std::vector<double>& from, std::size_t i, double logarithm) {
    std::vector<double> candidate = from;
    candidate[i] = std::clamp(candidate[i] * std::exp(logarithm), variables[i].least, variables[i].most);
    return candidate;
  };

  const double last = std::log(limits.last_step), first = std::log(limits.first_step);
  std::minstd_rand random;  // the same in every run
  std::vector<double> steps(best.size(), first);
  double at_start = std::numeric_limits<double>::infinity();
  while (evaluations < limits.evaluations) {
    if (std::none_of(steps.begin(), steps.end(), [last](double step) { return std::abs(step) > last; })) {
      // Once more with long steps from here, as long as that has helped.
      if (!(value < kHelped * at_start)) break;
      at_start = value;
      steps.assign(best.size(), first);
    }
    const std::vector<double> before = best;
    for (std::size_t i = 0; i < best.size() && evaluations < limits.evaluations; ++i) {
      if (std::abs(steps[i]) <= last) continue;
      if (better(moved(best, i, steps[i]))) {
        steps[i] *= kGrow;
      } else if (better(moved(best, i, -steps[i]))) {
        steps[i] *= -1;  // the next sweep goes this way first
      } else {
        steps[i] *= kShrink;
      }
    }
    // Where two must change together, neither helps alone.
    for (std::size_t i = 0; i < best.size() && best.size() > 1 && evaluations < limits.evaluations; ++i) {
      const std::size_t j = (i + 1 + random() % (best.size() - 1)) % best.size();
      const double up = std::max(std::abs(steps[i]), last), aside = (random() % 2 == 0 ? up : -up);
      if (better(moved(moved(best, i, up), j, aside)) || better(moved(moved(best, i, -up), j, -aside)))
        steps[i] = kGrow * up;
    }
    std::vector<double> onward = best;
    for (std::size_t i = 0; i < best.size(); ++i)
      onward[i] = std::clamp(best[i] * best[i] / before[i], variables[i].least, variables[i].most);
    if (onward != best) better(onward);
    if (progress) progress(evaluations, value);
  }
  return best;
}

}  // namespace tutti::fit
