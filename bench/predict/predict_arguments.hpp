// The command line of tutti-predict.
#pragma once
#include "bench/arguments.hpp"

namespace tutti::predict {

struct PredictArguments {
  bench::BenchArguments calls;  ///< what bench would be asked for
  std::string machine = "h100x8";
  int ranks = 0;         ///< 0: as many as the machine has
  int blocks = 0;        ///< 0: as the library would run
  bool list = false;     ///< --machines: list them, and end
  bool sources = false;  ///< --sources: tell where the machine's numbers come from, and end

  std::optional<std::string> help;  ///< the text of -h, if it was asked for
};

/// Reads the arguments (without the program's name). Throws bench::ArgumentError.
PredictArguments parse_predict(const std::vector<std::string>& arguments);

/// What can be checked only when the machine is known. Throws bench::ArgumentError.
void check_predict(const PredictArguments& arguments, int ranks);

/// More ranks than any real machine has, for orders of magnitude.
inline constexpr int kMostRanks = 4096;
inline constexpr int kLeastRanks = 2;

}  // namespace tutti::predict
