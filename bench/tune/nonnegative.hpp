// Least squares with coefficients that are not negative.
#pragma once
#include <span>
#include <vector>

namespace tutti::tune {

/// x >= 0 that makes the sum of squares of A x - b least. `rows` of A are as long as x; there is one for each of b.
/// Columns that the rows cannot tell apart share what one of them would have. (Lawson and Hanson, Solving Least Squares
/// Problems, 1974, chapter 23, on the normal equations of columns of length 1: good for a dozen unknowns.)
std::vector<double> nonnegative_least_squares(std::span<const std::vector<double>> rows, std::span<const double> b);

}  // namespace tutti::tune
