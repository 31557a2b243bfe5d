#include "bench/tune/nonnegative.hpp"

#include <algorithm>
#include <cmath>

namespace tutti::tune {
namespace {

using Matrix = std::vector<std::vector<double>>;

/// x of G x = h for the unknowns in `free`, 0 for the others; G is positive definite (Cholesky).
std::vector<double> solve(const Matrix& g, const std::vector<double>& h, const std::vector<std::size_t>& free) {
  const std::size_t n = free.size();
  Matrix l(n, std::vector<double>(n));
  std::vector<double> y(n), x(h.size());
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = g[free[i]][free[j]];
      for (std::size_t k = 0; k < j; ++k) sum -= l[i][k] * l[j][k];
      l[i][j] = i == j ? std::sqrt(sum) : sum / l[j][j];
    }
    y[i] = h[free[i]];
    for (std::size_t k = 0; k < i; ++k) y[i] -= l[i][k] * y[k];
    y[i] /= l[i][i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) y[i] -= l[k][i] * y[k];
    x[free[i]] = y[i] /= l[i][i];
  }
  return x;
}

}  // namespace

std::vector<double> nonnegative_least_squares(std::span<const std::vector<double>> rows, std::span<const double> b) {
  constexpr double kRidge = 1e-9;  // makes G definite, and alike columns share alike
  constexpr double kZero = 1e-12;
  if (rows.empty()) return {};
  const std::size_t n = rows[0].size();
  std::vector<double> length(n), h(n), x(n);
  for (const auto& row : rows)
    for (std::size_t i = 0; i < n; ++i) length[i] += row[i] * row[i];
  for (double& each : length) each = each > 0 ? std::sqrt(each) : 1;
  Matrix g(n, std::vector<double>(n));
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t i = 0; i < n; ++i) {
      h[i] += rows[r][i] / length[i] * b[r];
      for (std::size_t j = 0; j < n; ++j) g[i][j] += rows[r][i] / length[i] * (rows[r][j] / length[j]);
    }
  for (std::size_t i = 0; i < n; ++i) g[i][i] += kRidge;

  std::vector<std::size_t> free;
  for (std::size_t turns = 0; turns < 10 * n; ++turns) {
    // The unknown at 0 whose growth helps most becomes free.
    std::size_t best = n;
    double most = kZero;
    for (std::size_t i = 0; i < n; ++i) {
      if (std::find(free.begin(), free.end(), i) != free.end()) continue;
      double gain = h[i];
      for (std::size_t j = 0; j < n; ++j) gain -= g[i][j] * x[j];
      if (gain > most) {
        most = gain;
        best = i;
      }
    }
    if (best == n) break;
    free.push_back(best);
    for (;;) {
      const std::vector<double> wanted = solve(g, h, free);
      double part = 1;  // of the way there until an unknown is 0
      for (std::size_t i : free)
        if (wanted[i] <= 0) part = std::min(part, x[i] / (x[i] - wanted[i]));
      for (std::size_t i = 0; i < n; ++i) x[i] += part * (wanted[i] - x[i]);
      if (part == 1) break;
      std::erase_if(free, [&](std::size_t i) { return wanted[i] <= 0 && x[i] <= kZero; });
      for (std::size_t i = 0; i < n; ++i)
        if (std::find(free.begin(), free.end(), i) == free.end()) x[i] = 0;
    }
  }
  for (std::size_t i = 0; i < n; ++i) x[i] /= length[i];
  return x;
}

}  // namespace tutti::tune
