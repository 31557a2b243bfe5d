// Finds the least value of a function of positive numbers, without derivatives.
#pragma once
#include <functional>
#include <span>
#include <vector>

namespace tutti::fit {

/// What the search may change, from where, and between what.
struct Variable {
  double value, least, most;
};

struct SearchLimits {
  double first_step = 2, last_step = 1.02;  ///< factors
  int evaluations = 2000;                   ///< of the function, at most
};

/// Coordinate descent in the logarithms: each variable in turn goes a step up or down where that helps, its steps grow
/// while they help and shrink while they do not. After each sweep pairs of variables are moved together, and the sum of
/// the sweep's moves is tried once more: both cut across valleys. Once
/// no step helps, the search begins anew from there, until that gains nothing. A function of medians has no derivative,
/// and is flat or jumps in places: none is needed. Returns the best values; `progress`, if given, is told of each
/// sweep's best.
std::vector<double> least(const std::function<double(std::span<const double>)>& function,
                          std::span<const Variable> variables, const SearchLimits& limits,
                          const std::function<void(int evaluations, double best)>& progress = {});

}  // namespace tutti::fit
