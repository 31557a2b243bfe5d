// tutti-bench: measures collectives, all contenders in one run.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "bench/algorithms.hpp"
#include "bench/lineup.hpp"
#include "bench/machine.hpp"
#include "bench/race.hpp"
#include "bench/report.hpp"
#include "bench/table.hpp"
#include "collectives/environment.hpp"
#include "collectives/free_memory.hpp"
#include "collectives/gpu_driver.hpp"

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

// On which device native will run, where that can be told before there is a session.
std::optional<bool> foreseen_on_gpu() {
  const char* const device = std::getenv("TUTTI_DEVICE");
  const std::string_view asked = device ? device : "";
  if (asked == "cpu" || !lack_of_gpu().empty()) return false;
  if (asked == "gpu") return true;
  return std::nullopt;
}

Setting setting_of(const Lineup& lineup, const Machine& machine, bool on_gpu, int ranks) {
  Setting setting;
  setting.machine = fmt::format("{} core{} of {}", machine.cores, machine.cores > 1 ? "s" : "", machine.cpu);
  for (const std::string& gpu : machine.gpus) setting.machine += ", " + gpu;
  setting.machine += fmt::format(", {:.0f} GiB of memory", machine.memory_gib);
  setting.device = device_of(on_gpu, machine);
  setting.peer = lineup.peer();
  setting.several_peers = lineup.has_several_peers();
  if (setting.peer == "mpi") setting.peer_library = machine.mpi;
  setting.ranks = ranks;
  setting.arena_bytes = lineup.arena_bytes();
  setting.placements = !on_gpu;
  setting.notes = lineup.notes();
  return setting;
}

// Which of the algorithms that were asked for by name the collective does not have.
std::string missing(const BenchArguments& arguments, Operation operation) {
  if (arguments.all_algorithms) return "";
  const std::vector<Algorithm> known = algorithms_of(operation);
  std::vector<Algorithm> unknown;
  for (Algorithm algorithm : arguments.algorithms)
    if (algorithm != Algorithm::automatic && std::find(known.begin(), known.end(), algorithm) == known.end())
      unknown.push_back(algorithm);
  if (unknown.empty()) return "";
  return fmt::format("# not of {}: {} (it has {})\n", name_of(operation), names_of(unknown), names_of(known));
}

int measure(const BenchArguments& arguments, const std::vector<std::string>& words) {
  SessionOptions native;
  native.backend = BackendKind::native;
  Session session(native);
  const bool on_gpu = session.on_gpu();
  if (const std::string fault = misfit(arguments.backends, on_gpu); !fault.empty()) throw ArgumentError(fault);
  const int ranks = session.size();
  const bool first = session.rank() == 0;
  // Every rank judges by the least that any of them found free.
  std::size_t free = free_memory();
  for (std::size_t found : session.bootstrap_all_gather(free)) free = std::min(free, found);
  check_bench(arguments, ranks, free);

  const Machine machine = this_machine(on_gpu);
  Lineup lineup(session, arguments, buffers_for(arguments, ranks));
  RaceOptions options;
  if (machine.emulated) {
    // Whether results are right shows in one call.
    options.rounds = options.calls = 1;
    options.warm_up = 0;
    options.second_run_seconds = 0;
  } else {
    options.rounds = arguments.rounds;
    options.calls = arguments.calls;
    options.warm_up = arguments.warm_up;
    options.second_run_seconds = arguments.again_seconds;
  }
  options.check = arguments.check;
  options.steady = arguments.steady;
  Race race(session, lineup.meeting(), options, lineup.device(), lineup.limits());

  const Table table(arguments, !machine.emulated);
  print(first, table.header(setting_of(lineup, machine, on_gpu, ranks)));
  std::vector<Row> rows;
  std::vector<LeftOut> left_out;
  for (Operation operation : arguments.operations)
    for (bool in_place : arguments.in_place) {
      std::vector<std::string> told;
      const std::vector<Case> cases = cases_of(arguments, operation, ranks, in_place);
      if (cases.empty()) continue;
      print(first, table.section(cases.front()) + missing(arguments, operation));
      for (const Case& c : cases) {
        const RaceResult result = race.run(c, lineup.lanes(c));
        for (const Row& row : result.rows) print(first, table.line(row));
        for (const LeftOut& one : result.left_out) print(first, table.line(one));
        for (const std::string& note : result.notes)
          if (std::find(told.begin(), told.end(), note) == told.end()) {
            print(first, "# " + note + "\n");
            told.push_back(note);
          }
        rows.insert(rows.end(), result.rows.begin(), result.rows.end());
        left_out.insert(left_out.end(), result.left_out.begin(), result.left_out.end());
      }
    }
  print(first, table.footer(rows));

  bool good = true;
  for (const Row& row : rows) good = good && row.wrong == 0;
  if (first && !arguments.json.empty()) {
    std::ofstream file(arguments.json);
    file << report(machine, on_gpu, command_line(ranks, words), rows, left_out) << std::flush;
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
    if (const auto on_gpu = foreseen_on_gpu()) {
      if (const std::string fault = misfit(arguments.backends, *on_gpu); !fault.empty()) throw ArgumentError(fault);
    }
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
