#include "bench/explain/arguments.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>

#include "bench/algorithms.hpp"
#include "bench/option_values.hpp"
#include "bench/predict/machine_file.hpp"
#include "bench/sizes.hpp"
#include "bench/writable.hpp"

namespace tutti::explain {
namespace {

using bench::ArgumentError;
using bench::Operation;
using bench::split;
using bench::whole_number;

constexpr int kMostCells = 64;
constexpr int kMostBlocks = 8;
constexpr std::size_t kMostCellBytes = 1 << 20;
constexpr std::size_t kMostSubjects = 4;  // side by side on a page

const char* const kExamples = R"(examples:
  tutti explain all_reduce --algorithm ring -n 4
  tutti explain all_gather --algorithm bruck -n 5 --memory any
  tutti explain all_reduce --algorithm ring,two_shot -n 4 --machine h100x8 --cell 64K --html compare.html
  tutti explain broadcast --algorithm tree -n 8 --root 3 --trace tree.json      for ui.perfetto.dev
  tutti explain reduce_scatter --algorithm ring -n 3 --svg ring.svg --step 2

The kernel runs in virtual time on real memory: it really moves the cells. A cell is a line of equal f32, the least that
a chunk is cut into, and is drawn as one number. The moves are then done again with cells that remember whose parts they
hold, and what comes out is compared with the memory and with the definition of the collective, bit for bit. Every slot
has room for a whole message, as the formulas in the kernels' files assume. docs/explain.md tells more.)";

std::string operation_names() {
  std::string list;
  for (int i = 0; i < bench::kOperations; ++i)
    list.append(i > 0 ? ", " : "").append(name_of(static_cast<Operation>(i)));
  return list;
}

Operation operation_argument(const std::string& name) {
  for (int i = 0; i < bench::kOperations; ++i)
    if (name == name_of(static_cast<Operation>(i))) return static_cast<Operation>(i);
  if (name == "send" || name == "recv") return Operation::send_recv;
  throw ArgumentError(fmt::format("collective '{}': use one of {}", name, operation_names()));
}

std::vector<Algorithm> algorithm_argument(Operation operation, const std::string& list) {
  const std::vector<Algorithm> all = bench::algorithms_of(operation);
  std::vector<Algorithm> chosen;
  const auto add = [&](Algorithm algorithm) {
    if (std::find(chosen.begin(), chosen.end(), algorithm) == chosen.end()) chosen.push_back(algorithm);
  };
  for (const std::string& name : split(list)) {
    if (name == "all") {
      std::for_each(all.begin(), all.end(), add);
      continue;
    }
    const auto algorithm = parse_algorithm(name);
    if (!algorithm ||
        (*algorithm != Algorithm::automatic && std::find(all.begin(), all.end(), *algorithm) == all.end()))
      throw ArgumentError(
          fmt::format("--algorithm '{}': {} has auto, {}, or all", name, name_of(operation), bench::names_of(all)));
    add(*algorithm);
  }
  return chosen;
}

std::vector<bool> memory_argument(const std::string& list) {
  std::vector<bool> memories;
  for (const std::string& name : split(list)) {
    if (name != "peer-mapped" && name != "any")
      throw ArgumentError(fmt::format("--memory '{}': use peer-mapped or any", name));
    if (const bool mapped = name == "peer-mapped";
        std::find(memories.begin(), memories.end(), mapped) == memories.end())
      memories.push_back(mapped);
  }
  return memories;
}

timed::Machine machine_argument(const std::string& name, int ranks) {
  if (name == "plain") return plain_machine(ranks);
  try {
    timed::Machine machine = predict::machine_for(name).machine;
    if (machine.ranks < ranks)
      throw ArgumentError(fmt::format("-n {}: the machine '{}' has {} ranks", ranks, machine.name, machine.ranks));
    return machine;
  } catch (const predict::MachineError& error) {
    throw ArgumentError(error.what());
  }
}

std::size_t cell_argument(const std::string& text) {
  const auto bytes = bench::parse_size(text);
  if (!bytes || *bytes == 0 || *bytes % kLine != 0 || *bytes > kMostCellBytes)
    throw ArgumentError(fmt::format("--cell '{}': a cell is a multiple of {} bytes, at most 1M", text, kLine));
  return *bytes;
}

void check_file(const char* option, const CLI::App& app, const std::string& name) {
  if (app.get_option(option)->count() == 0) return;
  if (name.empty()) throw ArgumentError(fmt::format("{} '': give a file name", option));
  if (!bench::writable(name)) throw ArgumentError(fmt::format("{} '{}': cannot write this file", option, name));
}

}  // namespace

Arguments parse(const std::vector<std::string>& arguments) {
  Arguments result;
  std::string collective, ranks = "4", algorithms = "auto", root, op, memories = "peer-mapped", cells, cell, blocks;
  std::string machine = "plain", step;
  CLI::App app("Tells step by step what a kernel does: who moves what, and what each rank then holds.",
               "tutti explain");
  app.add_option("COLLECTIVE", collective, operation_names());
  app.add_option("-n,--ranks", ranks, fmt::format("ranks, {} to {} [4]", kLeastRanks, kMostRanks));
  app.add_option("--algorithm", algorithms,
                 "one or several with commas, or all [auto: what the library takes beyond packets]");
  app.add_option("-r,--root", root, "of broadcast, reduce, gather and scatter; the sender of send_recv [0]");
  app.add_option("-o,--op", op, "sum, prod, min, max, avg [sum]");
  app.add_option("--memory", memories, "peer-mapped, any, or both with a comma [peer-mapped]");
  app.add_option(
      "--cells", cells,
      "of the count that the call is given: a rank's buffer, or its chunk where each rank has one [as many as "
      "the algorithm shares out evenly]");
  app.add_option("--cell", cell, "bytes of a cell, a multiple of 128 [128]");
  app.add_option("--blocks", blocks, fmt::format("blocks of the call, 1 to {} [1, the double tree 2]", kMostBlocks));
  app.add_option("--machine", machine, "whose times: plain, one that predict knows, or a file of it [plain]");
  app.add_option("--html", result.html,
                 fmt::format("write a page that plays it, up to {} algorithms side by side", kMostSubjects));
  app.add_option("--trace", result.trace, "write Chrome trace JSON, for ui.perfetto.dev or chrome://tracing");
  app.add_option("--svg", result.svg, "write a picture of all steps");
  app.add_option("--step", step, "with --svg: of this step alone; 0 is before the call");
  app.add_option("--story", result.story, "write the story as JSON");
  app.footer(kExamples);
  result.help = bench::help_or_read(app, arguments);
  if (result.help) return result;
  const auto given = [&](const char* option) { return app.get_option(option)->count() > 0; };

  if (collective.empty()) throw ArgumentError("which collective? For instance: explain all_reduce (-h lists them)");
  Subject subject;
  subject.operation = operation_argument(collective);
  subject.ranks = whole_number("-n", ranks, kLeastRanks, kMostRanks);
  const bench::Case shape{.operation = subject.operation, .ranks = subject.ranks};
  const bool message = subject.operation == Operation::send_recv, barrier = subject.operation == Operation::barrier;
  if (given("--root")) {
    if (!shape.rooted() && !message) throw ArgumentError(fmt::format("--root '{}': {} has no root", root, collective));
    subject.root = whole_number("--root", root, 0, subject.ranks - 1);
  }
  if (given("--op")) {
    if (!shape.reduces()) throw ArgumentError(fmt::format("--op '{}': {} does not reduce", op, collective));
    const auto parsed = parse_reduce_op(op);
    if (!parsed) throw ArgumentError(fmt::format("--op '{}': the operators are sum, prod, min, max, avg", op));
    subject.op = *parsed;
  }
  if (given("--cells")) {
    if (barrier) throw ArgumentError(fmt::format("--cells '{}': barrier moves no cells", cells));
    subject.cells = whole_number("--cells", cells, 1, kMostCells);
  }
  if (given("--cell")) subject.cell_bytes = cell_argument(cell);
  if (given("--blocks")) subject.blocks = whole_number("--blocks", blocks, 1, kMostBlocks);
  subject.machine = machine_argument(machine, subject.ranks);

  for (const Algorithm algorithm : algorithm_argument(subject.operation, algorithms))
    for (const bool mapped : memory_argument(memories)) {
      subject.algorithm = algorithm;
      subject.mapped = mapped;
      result.subjects.push_back(subject);
    }
  if (given("--step")) {
    if (result.svg.empty()) throw ArgumentError("--step goes with --svg: it says which step the picture shows");
    result.step = whole_number("--step", step, 0, 1000);
  } else {
    result.step = -1;
  }
  const bool several = result.subjects.size() > 1;
  for (const char* option : {"--trace", "--svg", "--story"})
    if (several && given(option))
      throw ArgumentError(
          fmt::format("{} is of one algorithm in one memory, and here are {}", option, result.subjects.size()));
  if (given("--html") && result.subjects.size() > kMostSubjects)
    throw ArgumentError(
        fmt::format("--html shows at most {} side by side, and here are {}", kMostSubjects, result.subjects.size()));
  check_file("--html", app, result.html);
  check_file("--trace", app, result.trace);
  check_file("--svg", app, result.svg);
  check_file("--story", app, result.story);
  std::set<std::string> names;
  for (const std::string& name : {result.html, result.trace, result.svg, result.story})
    if (!name.empty() && name != "/dev/null" && !names.insert(name).second)
      throw ArgumentError(fmt::format("'{}' is there twice: give each file a name of its own", name));
  return result;
}

}  // namespace tutti::explain
