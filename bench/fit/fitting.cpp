#include "bench/fit/fitting.hpp"

#include <algorithm>
#include <set>

#include "bench/fit/parameters.hpp"
#include "bench/fit/search.hpp"

namespace tutti::fit {

Parts split(const std::vector<Measured>& rows, const std::vector<bench::Operation>& fitted) {
  const auto is_fitted_one = [&](const Measured& row) {
    return std::count(fitted.begin(), fitted.end(), row.question.c.operation) > 0;
  };
  const bool none = std::none_of(rows.begin(), rows.end(), is_fitted_one);
  std::set<std::size_t> sizes;
  for (const Measured& row : rows) sizes.insert(row.question.c.bytes);
  Parts parts;
  for (const Measured& row : rows) {
    const auto number = std::distance(sizes.find(row.question.c.bytes), sizes.end()) - 1;
    if (!none && !is_fitted_one(row))
      parts.collectives.push_back(row);
    else
      (number % 2 == 0 ? parts.fitted : parts.sizes).push_back(row);
  }
  return parts;
}

Fit fit(const timed::Machine& start, const std::vector<Measured>& rows, int evaluations,
        const std::function<void(int, double)>& progress) {
  std::vector<const Parameter*> changed;
  std::vector<Variable> variables;
  for (const Parameter& each : parameters())
    if (is_fitted(start, each)) {
      changed.push_back(&each);
      variables.push_back({start.*each.member, each.least, each.most});
    }
  const auto with = [&](std::span<const double> values) {
    timed::Machine machine = start;
    for (std::size_t i = 0; i < changed.size(); ++i) machine.*changed[i]->member = values[i];
    return machine;
  };
  const auto misfit_of = [&](std::span<const double> values) { return misfit(judge(with(values), rows)); };

  Fit result;
  result.before = misfit(judge(start, rows));
  std::vector<double> best = least(misfit_of, variables, {.evaluations = evaluations}, progress);
  result.machine = with(best);
  result.after = misfit_of(best);
  for (std::size_t i = 0; i < changed.size(); ++i) {
    std::vector<double> moved = best;
    moved[i] = best[i] * 1.2;
    const double up = misfit_of(moved);
    moved[i] = best[i] / 1.2;
    result.numbers.push_back({changed[i]->name, best[i], std::min(up, misfit_of(moved)) - result.after});
  }
  return result;
}

}  // namespace tutti::fit
