// The command line of tutti-topo.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tutti::bench {

struct TopoArguments {
  std::size_t bytes = std::size_t{8} << 20;  ///< of the messages that bandwidth is measured with
  double seconds = 2;                        ///< for all pairs together, about
  bool hold = true;                          ///< each rank on one CPU while it measures
  bool measure = true;
  std::string json;  ///< file name, or empty

  int ranks = 1;  ///< --ranks of --check-arguments
  bool check_only = false;
  std::optional<std::string> help;  ///< the text of -h, if it was asked for
};

/// Reads the arguments (without the program's name). Throws ArgumentError.
TopoArguments parse_topo(const std::vector<std::string>& arguments);

/// What can be checked only when the number of ranks is known: memory (`free` bytes of it), the JSON file. Throws
/// ArgumentError.
void check_topo(const TopoArguments& arguments, int ranks, std::size_t free);

}  // namespace tutti::bench
