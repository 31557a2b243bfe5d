// The command line of tutti-explain.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "bench/arguments.hpp"
#include "bench/explain/recording.hpp"

namespace tutti::explain {

inline constexpr int kLeastRanks = 2;
inline constexpr int kMostRanks = 16;

struct Arguments {
  std::vector<Subject> subjects;        ///< one for each algorithm and memory; what they leave open is equal
  std::string html, trace, svg, story;  ///< file names, or empty
  int step = -1;                        ///< of the picture; -1: all of them
  std::optional<std::string> help;      ///< the text of -h, if it was asked for
};

/// Reads the arguments (without the program's name). Throws bench::ArgumentError, also for files that cannot be
/// written.
Arguments parse(const std::vector<std::string>& arguments);

}  // namespace tutti::explain
