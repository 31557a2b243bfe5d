// tutti-tune: fits the constants by which algorithms are chosen.
#include <fmt/chrono.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <fstream>

#include "bench/machine.hpp"
#include "bench/tune/fitting.hpp"
#include "bench/tune/measure.hpp"
#include "bench/tune/predicted.hpp"
#include "bench/tune/tune_report.hpp"
#include "collectives/agreed_tuning.hpp"
#include "collectives/environment.hpp"
#include "collectives/tuning_file.hpp"

namespace tutti::tune {
namespace {

std::string today() { return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr))); }

std::string command_line(int ranks, const std::vector<std::string>& words) {
  return fmt::format("tutti -n {} tune{}{}", ranks, words.empty() ? "" : " ", fmt::join(words, " "));
}

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

/// Fits, tells, and writes what it found. `before`: the constants that sessions have now.
int conclude(const TuneArguments& arguments, const std::vector<Timing>& timings, const Tuning& before,
             const TuningNotes& notes, const char* timed) {
  const int blocks = choosing_geometry(notes.on_gpu, notes.ranks.front()).blocks;
  const Tuning tuning = arguments.judge ? before : fitted(before, timings, blocks);
  print(choices_text(judge(timings, tuning, notes.on_gpu), timed));
  if (arguments.judge) {
    print(fmt::format("# constants: {}\n", tuning.origin.data()));
    return 0;
  }
  print(errors_text(timings, tuning, notes.on_gpu));
  std::ofstream file(arguments.output);
  file << write_tuning(tuning, notes) << std::flush;
  if (!file) {
    fmt::print(stderr, "tutti tune: cannot write '{}'\n", arguments.output);
    return 1;
  }
  print(fmt::format("# wrote {0}; sessions choose by it where TUTTI_TUNING={0}\n", arguments.output));
  return 0;
}

int from_here(const TuneArguments& arguments, const std::vector<std::string>& words) {
  SessionOptions native;
  native.backend = BackendKind::native;
  Session session(native);
  const int ranks = session.size();
  const bool first = session.rank() == 0;
  if (ranks < 2) throw bench::ArgumentError("1 rank has nothing to choose: tutti -n 2 tune");
  const bench::Machine machine = bench::this_machine(session.on_gpu());
  if (machine.emulated) throw bench::ArgumentError("the GPUs are emulated: their times mean nothing");
  // As the session has them; it came to be, so the file that TUTTI_TUNING may name is good.
  const Tuning before =
      agreed_tuning(*process_bootstrap(), "", session.on_gpu(), !session.on_gpu() && ranks > machine.cores);
  TuningNotes notes{.on_gpu = session.on_gpu(), .ranks = {ranks}};
  notes.machine = session.on_gpu() && !machine.gpus.empty()
                      ? fmt::format("{} x {}", machine.gpus.size(), machine.gpus.front())
                      : fmt::format("{} core{} of {}", machine.cores, machine.cores > 1 ? "s" : "", machine.cpu);
  notes.how = fmt::format("measured {}, {} ranks", today(), ranks);
  notes.command = command_line(ranks, words);
  if (first) print(fmt::format("# {} ranks on {}\n", ranks, notes.machine));
  const std::vector<Timing> timings = measure(session, arguments, [&](const std::string& what) {
    if (first) fmt::print(stderr, "tutti tune: racing {}\n", what);
  });
  const int rc = first ? conclude(arguments, timings, before, notes, "measured") : 0;
  session.bootstrap_barrier();
  return rc;
}

int from_machine(const TuneArguments& arguments, const std::vector<std::string>& words) {
  const predict::MachineFile machine = predict::machine_for(arguments.machine);
  std::vector<int> worlds = arguments.worlds;
  if (worlds.empty()) worlds = {machine.machine.ranks};
  const bool on_gpu = machine.machine.is_gpu;
  TuningNotes notes{.on_gpu = on_gpu, .machine = machine.machine.name, .ranks = worlds};
  notes.how = fmt::format("predicted {}, {} ranks; never measured", today(), fmt::join(worlds, ", "));
  notes.command = command_line(1, words);
  const std::vector<Timing> timings = predicted(machine, arguments, worlds, [](const std::string& what) {
    fmt::print(stderr, "tutti tune: predicting {}\n", what);
  });
  return conclude(arguments, timings, default_tuning(on_gpu, false), notes, "predicted");
}

int run(const std::vector<std::string>& words) {
  const bool speaks = launched_rank() == 0;
  const auto refuse = [&](const char* why) {
    if (speaks) fmt::print(stderr, "tutti tune: {}\n", why);
    let_rank_0_speak();
    return 2;
  };
  try {
    const TuneArguments arguments = parse_tune(words);
    if (arguments.help) {
      if (speaks) fmt::print("{}", *arguments.help);
      return 0;
    }
    if (!arguments.machine.empty()) return arguments.check_only ? 0 : from_machine(arguments, words);
    if (const std::string fault = environment_fault(); !fault.empty()) throw bench::ArgumentError(fault);
    return arguments.check_only ? 0 : from_here(arguments, words);
  } catch (const bench::ArgumentError& error) {
    return refuse(error.what());
  } catch (const predict::MachineError& error) {
    return refuse(error.what());
  } catch (const Error& error) {
    // The same on all ranks, such as a tuning file that is bad.
    if (error.code() == ErrorCode::invalid_argument || error.code() == ErrorCode::unsupported)
      return refuse(error.what());
    fmt::print(stderr, "tutti tune: rank {}: {}\n", launched_rank(), error.what());
  } catch (const std::exception& error) {
    fmt::print(stderr, "tutti tune: rank {}: {}\n", launched_rank(), error.what());
  }
  // The other ranks may be waiting for this one: leaving at once lets the launcher end them.
  std::fflush(nullptr);
  _exit(1);
}

}  // namespace
}  // namespace tutti::tune

int main(int argc, char** argv) { return tutti::tune::run({argv + 1, argv + argc}); }
