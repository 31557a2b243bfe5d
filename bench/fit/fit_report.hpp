// What fit tells: the machine's numbers, and how far predictions are from what was measured.
#pragma once
#include <span>
#include <string>

#include "bench/fit/fitting.hpp"

namespace tutti::fit {

/// One group of rows judged.
struct Verdict {
  std::string title;
  std::vector<Judged> rows;
};

std::string numbers_text(const Fit& fit);

/// A line for each verdict, then of all rows together: medians by ranks, by size, by algorithm, the error of every row
/// as a table of algorithms by sizes, and the worst rows. `markdown`: for docs.
std::string errors_text(std::span<const Verdict> verdicts, bool markdown);

}  // namespace tutti::fit
