#include "bench/algorithms.hpp"

#include <sstream>

#include "collectives/choose.hpp"

namespace tutti::bench {

Collective collective_of(Operation operation) {
  switch (operation) {
    case Operation::all_reduce: return Collective::all_reduce;
    case Operation::reduce_scatter: return Collective::reduce_scatter;
    case Operation::all_gather: return Collective::all_gather;
    case Operation::broadcast: return Collective::broadcast;
    case Operation::reduce: return Collective::reduce;
    case Operation::gather: return Collective::gather;
    case Operation::scatter: return Collective::scatter;
    case Operation::all_to_all: return Collective::all_to_all;
    case Operation::send_recv: return Collective::send;
    case Operation::barrier: break;
  }
  return Collective::barrier;
}

std::vector<Algorithm> algorithms_of(Operation operation) {
  std::vector<Algorithm> algorithms;
  std::istringstream names(tutti::algorithms_of(collective_of(operation)));
  for (std::string name; std::getline(names >> std::ws, name, ',');)
    if (const auto algorithm = parse_algorithm(name)) algorithms.push_back(*algorithm);
  return algorithms;
}

std::string names_of(const std::vector<Algorithm>& algorithms) {
  std::string names;
  for (const Algorithm algorithm : algorithms) names.append(names.empty() ? "" : ", ").append(name_of(algorithm));
  return names;
}

}  // namespace tutti::bench
