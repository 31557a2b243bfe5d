// The command line of `tutti check`: read, and written, so that a finding can be had again.
#pragma once
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/model/check_work.hpp"

namespace tutti::model {

/// A mistake of the caller's; its text is one line.
struct OptionError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Options {
  std::vector<Kernel> kernels;  ///< without `recv`, the other end of each `send`
  bool sequences = false;
  bool mutants = false;    ///< the hunt for mutants instead, of `kernels`, with `seeds` and `jobs`
  std::vector<int> ranks;  ///< empty: for each kernel, all that are tried by default
  std::optional<std::uint64_t> seeds;
  std::uint64_t first_seed = 1;
  Pins pins;
  std::optional<Plant> plant;
  unsigned jobs = 1;
  double minutes = 0;  ///< 0: as long as it takes
};

/// What the arguments ask for; nothing if they ask for help, which is then in `help`.
std::optional<Options> parse_options(const std::vector<std::string>& arguments, std::string& help);

/// The command that runs what was found again, and nothing else.
std::string command_for(const Found& found, const std::optional<Plant>& plant);

/// "mapped", "staged", "mixed" or "pulled"
const char* memory_name(cases::Mapped mapped);

/// "wait:credit"
std::string text_of(const Plant& plant);

}  // namespace tutti::model
