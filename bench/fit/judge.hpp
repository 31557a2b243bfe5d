// How far predictions are from what was measured.
#pragma once
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "bench/fit/measured.hpp"

namespace tutti::fit {

/// A row with its prediction.
struct Judged {
  Measured measured;
  double predicted = 0;  ///< seconds
  /// 0.1: 10 % too long; -0.1: too short.
  double error() const { return predicted / measured.seconds - 1; }
  /// The larger of predicted / measured and measured / predicted, less 1: too short by half weighs as much as twice too
  /// long.
  double off() const;
};

std::vector<Judged> judge(const timed::Machine& machine, std::span<const Measured> rows);

/// Of the rows' absolute errors.
struct Summary {
  std::size_t rows = 0;
  double median = 0;     ///< of |error|
  double ninetieth = 0;  ///< the 90th percentile
  double bias = 0;       ///< the median of error
};
Summary summary_of(std::span<const Judged> rows);

/// Summaries of the rows of which `group` says the same.
std::map<std::string, Summary> summaries(std::span<const Judged> rows,
                                         const std::function<std::string(const Judged&)>& group);

/// What the fit makes small: the mean of |log(predicted / measured)|, to which what a row is off beyond twice too long
/// adds a quarter only, so that no row that the machine cannot describe bends it. Each number of ranks weighs the same.
double misfit(std::span<const Judged> rows);

}  // namespace tutti::fit
