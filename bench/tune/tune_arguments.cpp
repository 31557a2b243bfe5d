#include "bench/tune/tune_arguments.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "bench/option_values.hpp"
#include "bench/writable.hpp"

namespace tutti::tune {
namespace {

using bench::ArgumentError;
using bench::whole_number;

const char* const kExamples = R"(examples (sizes take K, M and G):
  tutti tune                                 at 2 ranks, all collectives; writes tutti-tuning.json
  TUTTI_TUNING=tutti-tuning.json tutti bench all_reduce
  tutti -n 4 tune all_reduce,broadcast -e 1M -o four.json
  TUTTI_TUNING=four.json tutti -n 4 tune --judge
  tutti -n 1 tune --machine h100x8 --worlds 2,4,8 -o h100.json

A session chooses, for each call, the algorithm whose formula promises the least time (docs/tuning.md). tune races all
algorithms in turn within one run, fits the formulas' constants to their times, and writes them to a file; rank 0 of a
session reads the file that TUTTI_TUNING names, and hands it to all. Collectives that are not tuned keep the constants
that sessions have now. The table tells, at each size, which algorithm the constants choose, which was fastest, and
their times: the constants are fitted to buffers that are peer-mapped; the times of others (--memory any) judge only.)";

}  // namespace

TuneArguments parse_tune(const std::vector<std::string>& arguments) {
  TuneArguments result;
  std::string collectives = "all", first = "8", last = "16M", factor = "2", memories = "peer-mapped", rounds = "7";
  std::string seconds, worlds, ranks;
  CLI::App app("Fits the constants by which algorithms are chosen to this machine.", "tutti tune");
  app.add_option("COLLECTIVE", collectives, "as for bench: all_reduce, ..., barrier; several with commas [all]");
  auto* const output = app.add_option("-o,--output", result.output, "the file to write [tutti-tuning.json]");
  app.add_option("-b,--minbytes", first, "smallest size [8]");
  app.add_option("-e,--maxbytes", last, "largest size [16M]");
  app.add_option("-f,--stepfactor", factor, "multiply sizes by this number [2]");
  app.add_option("--memory", memories, "peer-mapped, any; several with commas [peer-mapped]");
  app.add_option("--rounds", rounds, "in which all algorithms take turns, at least [7]");
  auto* const time = app.add_option("--seconds", seconds, "time calls for about as long, 1 to 3600 [60]");
  app.add_flag("--judge", result.judge, "write nothing: tell how good the choices are that sessions make now");
  auto* const machine = app.add_option("--machine", result.machine,
                                       "measure nothing: predict the times of this machine, as predict does");
  auto* const sizes = app.add_option("--worlds", worlds, "with --machine: numbers of ranks [as many as it has]");
  app.add_flag("--check-arguments", result.check_only)->group("");
  auto* const told = app.add_option("--ranks", ranks)->group("");
  app.footer(kExamples);
  result.help = bench::help_or_read(app, arguments);
  if (result.help) return result;
  result.calls = bench::parse_bench({collectives, "-b", first, "-e", last, "-f", factor, "--memory", memories,
                                     "--rounds", rounds, "--backend", "native", "--algorithm", "all"});
  if (time->count() > 0) result.seconds = whole_number("--seconds", seconds, 1, 3600);
  if (told->count() > 0) result.ranks = whole_number("--ranks", ranks, 1, 1 << 20);
  if (sizes->count() > 0) {
    if (machine->count() == 0) throw ArgumentError("--worlds goes with --machine; -n says how many ranks measure");
    for (const std::string& each : bench::split(worlds))
      result.worlds.push_back(whole_number("--worlds", each, 2, 4096));
  }
  if (machine->count() > 0 && (result.machine.empty() || result.judge))
    throw ArgumentError(result.judge ? "--judge and --machine exclude each other: what is judged is measured here"
                                     : "--machine '': give a machine's name, or a file that ends in .json");
  const auto& kinds = result.calls.memories;
  if (!result.judge && std::find(kinds.begin(), kinds.end(), bench::MemoryKind::peer_mapped) == kinds.end())
    throw ArgumentError("--memory any alone: constants are fitted to peer-mapped; add it, or --judge");
  if (result.judge && output->count() > 0)
    throw ArgumentError("--judge and -o exclude each other: --judge writes nothing");
  if (result.machine.empty() && result.ranks == 1) throw ArgumentError("1 rank has nothing to choose: tutti -n 2 tune");
  if (!result.machine.empty() && result.ranks.value_or(1) > 1)
    throw ArgumentError("--machine is predicted by one process: tutti -n 1 tune --machine ...");
  if (!result.judge && !bench::writable(result.output))
    throw ArgumentError(
        fmt::format("-o '{}': cannot write this file; name one in a folder that is yours", result.output));
  return result;
}

}  // namespace tutti::tune
