// The command line of tutti-fit.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "bench/arguments.hpp"

namespace tutti::fit {

struct FitArguments {
  std::vector<std::string> files;  ///< of bench; empty: measure
  std::string name = "cpu";        ///< of the machine: NAME-near.json and NAME-far.json are written
  std::vector<bench::Operation> fitted = {bench::Operation::all_reduce, bench::Operation::all_gather,
                                          bench::Operation::broadcast, bench::Operation::send_recv};
  double core_cache = 0, last_cache = 0;  ///< bytes; 0: as this system tells
  int evaluations = 3000;                 ///< of all rows, at most, for each placement
  std::string start;                      ///< a machine file from which to search; empty: a common server
  std::string machine;                    ///< judge this machine instead of fitting one; empty: fit
  bool markdown = false;
  bool write = true;
  bool check_only = false;          ///< --check-arguments: say whether the arguments are good, and end
  std::optional<std::string> help;  ///< the text of -h, if it was asked for
};

/// Reads the arguments (without the program's name). Throws bench::ArgumentError.
FitArguments parse_fit(const std::vector<std::string>& arguments);

}  // namespace tutti::fit
