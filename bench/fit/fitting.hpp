// From measured rows to a machine.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "bench/fit/judge.hpp"
#include "bench/fit/measured.hpp"

namespace tutti::fit {

/// Rows that are fitted, and those that only judge.
struct Parts {
  std::vector<Measured> fitted;
  std::vector<Measured> sizes;        ///< of the same collectives, sizes in between
  std::vector<Measured> collectives;  ///< the others
};

/// Every other size of these collectives is fitted, from the largest on; if no row is of them, of all collectives.
Parts split(const std::vector<Measured>& rows, const std::vector<bench::Operation>& fitted);

/// What became of a number of the machine.
struct Determined {
  std::string name;
  double value = 0;
  double loss = 0;  ///< how much the misfit grows, at least, when the number is 20 % smaller or larger; 0: no row cares
};

struct Fit {
  timed::Machine machine;
  double before = 0, after = 0;  ///< misfit of the fitted rows
  std::vector<Determined> numbers;
};

/// Searches from `start` on; numbers that are 0 there stay so. `progress` is told the search's state now and then.
Fit fit(const timed::Machine& start, const std::vector<Measured>& rows, int evaluations,
        const std::function<void(int evaluations, double misfit)>& progress = {});

}  // namespace tutti::fit
