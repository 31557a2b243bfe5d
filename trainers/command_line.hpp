// The arguments of tutti-train.
#pragma once
#include <stdexcept>
#include <string>

#include "trainers/config.hpp"

namespace tutti::trainers {

struct CommandLine {
  Config config;
  bool help = false;
  std::string help_text;
  int check_ranks = 0;  ///< > 0: only check the arguments, for so many ranks
};

/// What the user typed is wrong; the message is one line.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws UsageError.
CommandLine parse_command_line(int count, char** arguments);

}  // namespace tutti::trainers
