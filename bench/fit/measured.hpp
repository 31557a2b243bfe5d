// What bench has measured, as questions whose answers are known.
#pragma once
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/predict/prediction.hpp"
#include "bench/rows.hpp"

namespace tutti::fit {

/// What is wrong with a file of bench, in one line: file, row, what to do.
struct FileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Measured {
  predict::Question question;
  double seconds = 0;  ///< of a call
  bench::Placement placement = bench::Placement::unknown;
};

/// One or more runs of bench on one machine.
struct Measurements {
  std::string cpu;
  int cores = 0;
  std::string commands;  ///< of bench, separated by "; "
  std::vector<Measured> rows;
  std::vector<std::string> left_out;  ///< which rows are not among them, and why; one line each
};

/// Adds the rows of native in `text`, a JSON file of bench; `file` is for messages. Throws FileError if it is none, was
/// measured on GPUs, on another machine than the rows before, with --steady, or has wrong results.
void add_measurements(Measurements& all, std::string_view text, const std::string& file);

/// The same, of these files.
Measurements read_measurements(const std::vector<std::string>& files);

/// The rows of one placement.
std::vector<Measured> of_placement(const std::vector<Measured>& rows, bench::Placement placement);

}  // namespace tutti::fit
