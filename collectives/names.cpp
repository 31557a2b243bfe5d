#include <array>

#include "collectives/tutti.hpp"

namespace tutti {
namespace {

constexpr std::array<const char*, kCollectives> kCollectiveNames = {
    "all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "gather",
    "scatter",    "all_to_all",     "send",       "recv",      "barrier"};
constexpr std::array<const char*, kAlgorithms> kAlgorithmNames = {
    "auto",     "ring",          "one_shot",           "two_shot",         "direct",
    "packets",  "tree",          "recursive_doubling", "halving_doubling", "bruck",
    "pairwise", "dissemination", "multicast"};
constexpr std::array<const char*, 4> kBackends = {"auto", "native", "mpi", "nccl"};

template <class E>
std::optional<E> parse(std::string_view name, int values, const char* (*name_of_value)(E)) {
  for (int i = 0; i < values; ++i) {
    if (name == name_of_value(static_cast<E>(i))) return static_cast<E>(i);
  }
  return std::nullopt;
}

}  // namespace

const char* name_of(Collective collective) { return kCollectiveNames[static_cast<std::size_t>(collective)]; }
const char* name_of(Algorithm algorithm) { return kAlgorithmNames[static_cast<std::size_t>(algorithm)]; }
const char* name_of(BackendKind backend) { return kBackends[static_cast<std::size_t>(backend)]; }

std::optional<Collective> parse_collective(std::string_view name) {
  return parse<Collective>(name, kCollectives, name_of);
}
std::optional<Algorithm> parse_algorithm(std::string_view name) { return parse<Algorithm>(name, kAlgorithms, name_of); }
std::optional<BackendKind> parse_backend(std::string_view name) {
  return parse<BackendKind>(name, static_cast<int>(kBackends.size()), name_of);
}
std::optional<DataType> parse_data_type(std::string_view name) { return parse<DataType>(name, kDataTypes, name_of); }
std::optional<ReduceOp> parse_reduce_op(std::string_view name) { return parse<ReduceOp>(name, kReduceOps, name_of); }

}  // namespace tutti
