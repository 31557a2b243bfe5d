// Medians, and how sure one can be of them.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace tutti::bench {

/// The middle value, or the mean of the two middle ones. `values` must not be empty.
inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/// An interval that holds the true median with at least 95 % probability, whatever the distribution: the narrowest pair
/// of symmetric order statistics for which the binomial distribution (n, 1/2) promises it. With fewer than six values
/// no pair does: then the whole range. `values` must not be empty.
inline std::pair<double, double> median_interval(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const int n = static_cast<int>(values.size());
  // The interval from the k-th smallest to the k-th largest (k from 0) misses the median if at most k of the values lie
  // on one side of it: probability 2 * sum_{i<=k} C(n,i) / 2^n.
  int k = 0;
  double tail = 0;
  for (int i = 0; i < (n + 1) / 2; ++i) {
    tail += std::exp(std::lgamma(n + 1) - std::lgamma(i + 1) - std::lgamma(n - i + 1) - n * std::log(2.0));
    if (2 * tail > 0.05) break;
    k = i;
  }
  return {values[static_cast<std::size_t>(k)], values[static_cast<std::size_t>(n - 1 - k)]};
}

}  // namespace tutti::bench
