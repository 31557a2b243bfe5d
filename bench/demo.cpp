// tutti-demo: the lecture's programs, and how their figures compare.
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "bench/arguments.hpp"
#include "bench/demo_by_hand.hpp"
#include "bench/demo_collectives.hpp"
#include "bench/demo_compare.hpp"
#include "bench/demo_lecture.hpp"
#include "bench/demo_table.hpp"
#include "bench/in_order.hpp"
#include "bench/machine.hpp"
#include "collectives/free_memory.hpp"

namespace tutti::bench {
namespace {

constexpr std::size_t kDemoElements = std::size_t{16} << 20;
constexpr std::size_t kLectureElements = 104857600;

struct DemoArguments {
  bool arrival_order = false;
  bool collectives_only = false;
  bool lecture_size = false;
  int threads = 0;  ///< 0: ranks are processes
  std::vector<std::string> compare;
  bool check_only = false;
  int ranks = 1;
  std::string help;
};

const char* const kExamples = R"(examples:
  tutti demo
  tutti -n 2 demo
  tutti demo --collectives-only --arrival-order
  tutti demo --lecture-size
  tutti-demo --compare serial.json data.json tensor.json pipeline.json

environment:
  TUTTI_TIMEOUT   seconds that a wait may last before the run fails [600]
  TUTTI_DEVICE    where native runs: cpu, gpu, or auto (GPUs if every rank can have one) [auto]
  TUTTI_BACKEND   of the demo's trainers: native, mpi or nccl; the rest shows native, and one for comparison [native])";

DemoArguments parse(const std::vector<std::string>& words) {
  DemoArguments result;
  CLI::App app("The lecture's collectives, the same by hand, its benchmark, and a short bandwidth table.",
               "tutti demo");
  app.add_flag("--arrival-order", result.arrival_order, "print as the ranks come, not in rank order");
  app.add_flag("--collectives-only", result.collectives_only,
               "end after the lecture's collectives and the same by hand");
  app.add_flag("--lecture-size", result.lecture_size, "100 M elements per rank, as in the lecture, instead of 16 M");
  auto* threads = app.add_option("--threads", result.threads, "ranks as threads of one process (without the table)");
  app.add_option("--compare", result.compare,
                 "only compare training runs: the files of tutti train --json, the serial one first");
  app.add_flag("--check-arguments", result.check_only)->group("");
  app.add_option("--ranks", result.ranks)->group("");
  app.footer(kExamples);
  try {
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    result.help = app.help();
  } catch (const CLI::ParseError& error) {
    throw ArgumentError(fmt::format("{} (-h lists the options)", error.what()));
  }
  if (threads->count() > 0 && (result.threads < 1 || result.threads > 64))
    throw ArgumentError(fmt::format("--threads {}: use a number from 1 to 64", result.threads));
  if (result.threads > 0 && result.ranks > 1)
    throw ArgumentError(fmt::format("--threads {}: these ranks are threads of one process, not of {}: tutti -n 1 demo",
                                    result.threads, result.ranks));
  if (result.compare.size() == 1) throw ArgumentError("--compare: give the serial run and at least one other");
  return result;
}

void check_memory(std::size_t elements, int ranks) {
  const double needed = lecture_bytes(ranks, elements);
  const std::size_t free = free_memory();
  if (needed > static_cast<double>(free))
    throw ArgumentError(
        fmt::format("the benchmark needs {:.0f} bytes ({}) for {} ranks, but only {} bytes ({}) are free; "
                    "--collectives-only needs none",
                    needed, readable_bytes(needed), ranks, free, readable_bytes(static_cast<double>(free))));
}

// The parts of the demo on one rank; false if a result was wrong.
bool show(Session& session, const DemoArguments& arguments, std::size_t elements) {
  InOrder out(session, arguments.arrival_order);
  const Machine machine = this_machine(session.on_gpu());
  out.once(fmt::format("tutti on {}\n\n", device_of(session.on_gpu(), machine)));
  bool good = show_collectives(session, out);
  out.once("\n");
  good = show_by_hand(session, !machine.emulated, out) && good;
  if (arguments.collectives_only) return good;
  if (machine.emulated) {
    out.once("\nThe GPUs are emulated on the CPU, so times mean nothing: no benchmark and no table.\n");
    return good;
  }
  out.once("\n");
  good = show_lecture_benchmark(session, elements, out) && good;
  if (arguments.threads > 0) return good;
  out.once("\n");
  return show_table(session, out) && good;
}

int demo(const DemoArguments& arguments) {
  if (!arguments.compare.empty()) {
    if (launched_rank() != 0) return 0;
    std::vector<TrainingRun> runs;
    for (const std::string& file : arguments.compare) runs.push_back(read_training_run(file));
    const Comparison comparison = compare(runs);
    if (arguments.check_only) return 0;
    fmt::print("{}", comparison.text);
    return comparison.good ? 0 : 1;
  }
  if (const std::string fault = environment_fault(); !fault.empty()) throw ArgumentError(fault);
  const std::size_t elements = arguments.lecture_size ? kLectureElements : kDemoElements;
  const auto need_memory = [&](int ranks) {
    if (!arguments.collectives_only) check_memory(elements, ranks);
  };
  if (arguments.check_only) {
    need_memory(arguments.threads > 0 ? arguments.threads : arguments.ranks);
    return 0;
  }
  SessionOptions native;
  native.backend = BackendKind::native;
  if (arguments.threads > 0) {
    need_memory(arguments.threads);
    std::vector<char> good(static_cast<std::size_t>(arguments.threads));
    run_threads(
        arguments.threads,
        [&](Session& session) { good[static_cast<std::size_t>(session.rank())] = show(session, arguments, elements); },
        native);
    return std::count(good.begin(), good.end(), 0) == 0 ? 0 : 1;
  }
  Session session(native);
  bool enough = true;
  std::string lack;
  if (session.rank() == 0) try {
      need_memory(session.size());
    } catch (const ArgumentError& error) {
      enough = false;
      lack = error.what();
    }
  if (!session.bootstrap_all_gather(static_cast<char>(enough))[0]) throw ArgumentError(lack);
  return show(session, arguments, elements) ? 0 : 1;
}

int run(const std::vector<std::string>& words) {
  const bool speaks = launched_rank() == 0;
  try {
    const DemoArguments arguments = parse(words);
    if (arguments.help.empty()) return demo(arguments);
    if (speaks) fmt::print("{}", arguments.help);
    return 0;
  } catch (const ArgumentError& error) {
    if (speaks) fmt::print(stderr, "tutti demo: {}\n", error.what());
    let_rank_0_speak();
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "tutti demo: rank {}: {}\n", launched_rank(), error.what());
    // The other ranks may be waiting for this one: leaving at once lets the launcher end them.
    std::fflush(nullptr);
    _exit(1);
  }
}

}  // namespace
}  // namespace tutti::bench

int main(int argc, char** argv) { return tutti::bench::run({argv + 1, argv + argc}); }
