// tutti-bench: measures collectives, all contenders in one run.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "bench/arguments.hpp"
#include "bench/lineup.hpp"
#include "bench/machine.hpp"
#include "bench/race.hpp"
#include "bench/report.hpp"
#include "bench/table.hpp"
#include "collectives/free_memory.hpp"

namespace tutti::bench {
namespace {

std::string command_line(int ranks, const std::vector<std::string>& arguments) {
  std::string line = fmt::format("tutti -n {} bench", ranks);
  for (const std::string& argument : arguments) {
    const bool plain = !argument.empty() && argument.find_first_of(" \t\n'\"\\$&|;<>()*?[]#~`!{}") == std::string::npos;
    line += plain ? " " + argument : " '" + argument + "'";
  }
  return line;
}

void print(bool shown, const std::string& text) {
  if (!shown) return;
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

int measure(const BenchArguments& arguments, const std::vector<std::string>& words) {
  SessionOptions native;
  native.backend = BackendKind::native;
  Session session(native);
  if (session.on_gpu()) throw ArgumentError(kNeedsCpu);
  const int ranks = session.size();
  const bool first = session.rank() == 0;
  // Every rank judges by the least that any of them found free.
  std::size_t free = free_memory();
  for (std::size_t found : session.bootstrap_all_gather(free)) free = std::min(free, found);
  check_bench(arguments, ranks, free);

  const Machine machine = this_machine();
  Lineup lineup(session, arguments.backends, arguments.algorithms, arguments.memories, buffers_for(arguments, ranks));
  RaceOptions options;
  options.rounds = arguments.rounds;
  options.calls = arguments.calls;
  options.warm_up = arguments.warm_up;
  options.check = arguments.check;
  options.steady = arguments.steady;
  Race race(session, lineup.meeting(), options);

  print(first, table_header(arguments, machine, ranks, lineup.arena_bytes()));
  std::vector<Row> rows;
  for (Operation operation : arguments.operations)
    for (bool in_place : arguments.in_place) {
      std::vector<std::string> told;
      const std::vector<Case> cases = cases_of(arguments, operation, ranks, in_place);
      if (!cases.empty()) print(first, section_header(cases.front()));
      for (const Case& c : cases) {
        const RaceResult result = race.run(c, lineup.lanes(c));
        for (const Row& row : result.rows) print(first, table_line(row, arguments.algorithms.size() > 1));
        for (const std::string& note : result.notes)
          if (std::find(told.begin(), told.end(), note) == told.end()) {
            print(first, "# " + note + "\n");
            told.push_back(note);
          }
        rows.insert(rows.end(), result.rows.begin(), result.rows.end());
      }
    }
  print(first, table_footer(rows, arguments.check));

  bool good = true;
  for (const Row& row : rows) good = good && row.wrong == 0;
  if (first && !arguments.json.empty()) {
    std::ofstream file(arguments.json);
    file << report(machine, command_line(ranks, words), rows) << std::flush;
    if (!file) {
      fmt::print(stderr, "tutti bench: cannot write '{}'\n", arguments.json);
      good = false;
    }
  }
  session.bootstrap_barrier();
  return good ? 0 : 1;
}

int run(const std::vector<std::string>& words) {
  const bool speaks = launched_rank() == 0;
  try {
    const BenchArguments arguments = parse_bench(words);
    if (arguments.help) {
      if (speaks) fmt::print("{}", *arguments.help);
      return 0;
    }
    if (const std::string fault = environment_fault(); !fault.empty()) throw ArgumentError(fault);
    if (arguments.check_only) {
      check_bench(arguments, arguments.ranks.value_or(1), free_memory());
      return 0;
    }
    return measure(arguments, words);
  } catch (const ArgumentError& error) {
    if (speaks) fmt::print(stderr, "tutti bench: {}\n", error.what());
    let_rank_0_speak();
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "tutti bench: rank {}: {}\n", launched_rank(), error.what());
    // The other ranks may be waiting for this one: leaving at once lets the launcher end them.
    std::fflush(nullptr);
    _exit(1);
  }
}

}  // namespace
}  // namespace tutti::bench

int main(int argc, char** argv) { return tutti::bench::run({argv + 1, argv + argc}); }
