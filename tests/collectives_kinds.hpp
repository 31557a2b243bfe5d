// Every collective by every algorithm that serves it, as the backend names them.
#pragma once
#include <string>
#include <vector>

#include "collectives/choose.hpp"
#include "tests/collectives_cases.hpp"

namespace tutti::test {

/// The algorithms that `collective` can be forced to use.
inline std::vector<Algorithm> algorithms_for(Collective collective) {
  std::vector<Algorithm> algorithms;
  std::string names = algorithms_of(collective) + ", ";
  for (std::size_t at = 0, comma; (comma = names.find(", ", at)) != std::string::npos; at = comma + 2)
    algorithms.push_back(parse_algorithm(names.substr(at, comma - at)).value());
  return algorithms;
}

/// The same with what is chosen if nothing is asked for, for every collective; send stands for messages.
inline std::vector<Kind> all_kinds() {
  std::vector<Kind> kinds;
  for (int c = 0; c < kCollectives; ++c) {
    const auto collective = static_cast<Collective>(c);
    if (collective == Collective::recv) continue;
    kinds.push_back({collective, Algorithm::automatic});
    for (const Algorithm algorithm : algorithms_for(collective)) kinds.push_back({collective, algorithm});
  }
  return kinds;
}

}  // namespace tutti::test
