#include "bench/fit/search.hpp"

#include <algorithm>
#include <cmath>

namespace tutti::fit {

std::vector<double> least(const std::function<double(std::span<const double>)>& function,
                          std::span<const Variable> variables, const SearchLimits& limits,
                          const std::function<void(int, double)>& progress) {
  constexpr double kGrow = 1.5, kShrink = 0.5;  // of a step's logarithm
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

  const double last = std::log(limits.last_step);
  std::vector<double> steps(best.size(), std::log(limits.first_step));
  while (evaluations < limits.evaluations &&
         std::any_of(steps.begin(), steps.end(), [last](double step) { return std::abs(step) > last; })) {
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
    std::vector<double> onward = best;
    for (std::size_t i = 0; i < best.size(); ++i)
      onward[i] = std::clamp(best[i] * best[i] / before[i], variables[i].least, variables[i].most);
    if (onward != best) better(onward);
    if (progress) progress(evaluations, value);
  }
  return best;
}

}  // namespace tutti::fit
