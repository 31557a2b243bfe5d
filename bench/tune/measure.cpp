#include "bench/tune/measure.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>

#include "bench/algorithms.hpp"
#include "bench/cases.hpp"
#include "bench/lineup.hpp"
#include "bench/race.hpp"
#include "collectives/free_memory.hpp"

namespace tutti::tune {
namespace {

using bench::Case;

/// How long a batch of calls may take, so that all of them take about `seconds`: a third of the time goes to finding
/// out how many calls make a batch, and to filling and reading buffers.
double batch_seconds(const TuneArguments& arguments, int ranks) {
  std::size_t lanes = 0;
  for (const bench::Operation operation : arguments.calls.operations)
    lanes += bench::cases_of(arguments.calls, operation, ranks, false).size() * bench::algorithms_of(operation).size() *
             arguments.calls.memories.size();
  const double batches = static_cast<double>(std::max<std::size_t>(lanes, 1)) * arguments.calls.rounds;
  return std::clamp(arguments.seconds / 1.5 / batches, 0.0002, 0.1);
}

}  // namespace

std::vector<Timing> measure(Session& session, const TuneArguments& arguments,
                            const std::function<void(const std::string&)>& progress) {
  const int ranks = session.size();
  // Every rank judges by the least that any of them found free.
  std::size_t free = free_memory();
  for (const std::size_t found : session.bootstrap_all_gather(free)) free = std::min(free, found);
  bench::check_bench(arguments.calls, ranks, free);

  bench::Lineup lineup(session, arguments.calls, bench::buffers_for(arguments.calls, ranks));
  bench::RaceOptions options;
  options.rounds = arguments.calls.rounds;
  options.batch_seconds = batch_seconds(arguments, ranks);
  options.warm_up = 1;
  bench::Race race(session, lineup.meeting(), options, lineup.device());
  std::vector<Timing> timings;
  for (const bench::Operation operation : arguments.calls.operations) {
    progress(name_of(operation));
    const Collective collective = bench::collective_of(operation);
    for (const Case& c : bench::cases_of(arguments.calls, operation, ranks, false))
      for (const bench::Row& row : race.run(c, lineup.lanes(c)).rows) {
        if (row.wrong > 0)
          throw std::runtime_error(fmt::format("{} of {} bytes by {} got {} elements wrong", name_of(operation),
                                               c.bytes, row.algorithm, row.wrong));
        const auto algorithm = parse_algorithm(row.asked_algorithm);
        timings.push_back({implementation_of(collective, *algorithm), c, row.memory, row.placement, row.seconds});
      }
  }
  return timings;
}

}  // namespace tutti::tune
