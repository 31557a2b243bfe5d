#include "bench/cases.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "bench/algorithms.hpp"
#include "bench/writable.hpp"

namespace tutti::bench {

std::vector<Case> cases_of(const BenchArguments& arguments, Operation operation, int ranks, bool in_place) {
  Case shape;
  shape.operation = operation;
  shape.ranks = ranks;
  shape.type = arguments.type;
  shape.op = arguments.op;
  shape.root = std::max(arguments.root, 0);
  shape.in_place = in_place;
  if (operation == Operation::send_recv && ranks < 2) return {};
  if (!shape.has_places()) {
    if (in_place != arguments.in_place.front()) return {};
    shape.in_place = false;
  }
  if (operation == Operation::barrier) return {case_of(0, shape)};
  std::vector<Case> cases;
  for (std::size_t size : arguments.range.sizes(kMostSizes)) {
    Case next = case_of(size, shape);
    if (next.count == 0 || (!cases.empty() && cases.back().bytes == next.bytes)) continue;
    cases.push_back(next);
    if (shape.rooted() && arguments.root == kEachRoot)
      while (++next.root < ranks) cases.push_back(next);
  }
  return cases;
}

BufferBytes buffers_for(const BenchArguments& arguments, int ranks) {
  BufferBytes bytes;
  for (Operation operation : arguments.operations)
    for (bool in_place : arguments.in_place)
      for (const Case& c : cases_of(arguments, operation, ranks, in_place)) {
        bytes.in = std::max(bytes.in, c.in_count() * size_of(c.type));
        bytes.out = std::max(bytes.out, c.out_count() * size_of(c.type));
      }
  return bytes;
}

void check_bench(const BenchArguments& arguments, int ranks, std::size_t free) {
  if (arguments.root >= ranks)
    throw ArgumentError(fmt::format("-r {}: the ranks are 0 to {}", arguments.root, ranks - 1));
  for (Operation operation : arguments.operations) {
    if (arguments.operations.size() == 1) {
      const std::vector<Algorithm> known = algorithms_of(operation);
      const bool playable = std::any_of(arguments.algorithms.begin(), arguments.algorithms.end(), [&](Algorithm one) {
        return one == Algorithm::automatic || std::find(known.begin(), known.end(), one) != known.end();
      });
      if (!playable)
        throw ArgumentError(fmt::format("--algorithm {}: {} has {}, and auto", names_of(arguments.algorithms),
                                        name_of(operation), names_of(known)));
    }
    if (operation == Operation::send_recv && ranks < 2) {
      if (arguments.operations.size() > 1) continue;
      throw ArgumentError("send_recv needs two ranks: tutti -n 2 bench send_recv");
    }
    bool any = false;
    for (bool in_place : arguments.in_place) any = any || !cases_of(arguments, operation, ranks, in_place).empty();
    if (!any)
      throw ArgumentError(fmt::format("-e {} is too small: {} of {} at {} ranks needs at least {} bytes",
                                      exact_size(arguments.range.last), name_of(operation), name_of(arguments.type),
                                      ranks, least_bytes({operation, ranks, arguments.type})));
  }
  const BufferBytes bytes = buffers_for(arguments, ranks);
  // In floating point: sizes up to 2^63 are legal to ask for.
  const double needed =
      (static_cast<double>(bytes.in) + static_cast<double>(bytes.out)) * ranks * arguments.memories.size();
  if (needed > static_cast<double>(free))
    throw ArgumentError(
        fmt::format("-e {} needs {:.0f} bytes ({}) of buffers for {} ranks and {} kind{} of memory, but "
                    "only {} bytes ({}) are free",
                    exact_size(arguments.range.last), needed, readable_bytes(needed), ranks, arguments.memories.size(),
                    arguments.memories.size() > 1 ? "s" : "", free, readable_bytes(static_cast<double>(free))));
  if (!arguments.json.empty() && !writable(arguments.json))
    throw ArgumentError(fmt::format("--json '{}': cannot write this file", arguments.json));
}

}  // namespace tutti::bench
