// The command line of tutti-tune.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "bench/arguments.hpp"

namespace tutti::tune {

struct TuneArguments {
  bench::BenchArguments calls;  ///< what is raced: every algorithm of each collective
  std::string output = "tutti-tuning.json";
  double seconds = 60;      ///< about as long are calls timed
  bool judge = false;       ///< fit nothing: tell how good the choices are that sessions make now
  std::string machine;      ///< predict its times, instead of measuring here
  std::vector<int> worlds;  ///< --machine: the numbers of ranks
  bool check_only = false;
  std::optional<int> ranks;  ///< --ranks of --check-arguments
  std::optional<std::string> help;
};

/// Reads the arguments (without the program's name). Throws bench::ArgumentError.
TuneArguments parse_tune(const std::vector<std::string>& arguments);

}  // namespace tutti::tune
