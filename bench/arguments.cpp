#include "bench/arguments.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "bench/option_values.hpp"

namespace tutti::bench {
namespace {

// Every name of a comma-separated list through `parse`, each once, in the order given.
template <class T, class Parse>
std::vector<T> names(const char* option, const std::string& list, const char* known, Parse parse) {
  std::vector<T> values;
  for (const std::string& name : split(list)) {
    const std::optional<T> value = parse(name);
    if (!value) throw ArgumentError(fmt::format("{} '{}': use {}, separated by commas", option, name, known));
    if (std::find(values.begin(), values.end(), *value) == values.end()) values.push_back(*value);
  }
  return values;
}

std::optional<Operation> parse_operation(const std::string& name) {
  for (int i = 0; i < kOperations; ++i)
    if (name == name_of(static_cast<Operation>(i))) return static_cast<Operation>(i);
  if (name == "sendrecv") return Operation::send_recv;  // nccl-tests' names
  if (name == "alltoall") return Operation::all_to_all;
  return std::nullopt;
}

DataType parse_type(const std::string& name) {
  static const std::pair<const char*, DataType> nccl_tests_names[] = {
      {"float", DataType::f32}, {"double", DataType::f64}, {"half", DataType::f16},  {"bfloat16", DataType::bf16},
      {"int8", DataType::i8},   {"uint8", DataType::u8},   {"int32", DataType::i32}, {"uint32", DataType::u32},
      {"int64", DataType::i64}, {"uint64", DataType::u64},
  };
  if (const auto type = parse_data_type(name)) return *type;
  for (const auto& [alias, type] : nccl_tests_names)
    if (name == alias) return type;
  throw ArgumentError(fmt::format("-d '{}': the types are f32 f64 f16 bf16 i8 u8 i32 u32 i64 u64", name));
}

std::size_t size_argument(const char* option, const std::string& text) {
  const auto size = parse_size(text);
  if (!size)
    throw ArgumentError(
        fmt::format("{} '{}': a size is a whole number of bytes, with K, M or G for 1024-based units, "
                    "as in {} 64M",
                    option, text, option));
  if (*size == 0) throw ArgumentError(fmt::format("{} 0: a size is at least 1 byte", option));
  return *size;
}

double factor_argument(const std::string& text) {
  char* end = nullptr;
  const double factor = std::strtod(text.c_str(), &end);
  const bool plain = !text.empty() && text.find_first_not_of("0123456789.") == std::string::npos && *end == '\0';
  if (!plain || !(factor > 1) || factor > 1e6)
    throw ArgumentError(
        fmt::format("-f '{}': sizes are multiplied by this number, so it must be above 1, as in -f 2", text));
  return factor;
}

const std::string& operation_names() {
  static const std::string names = [] {
    std::string list;
    for (int i = 0; i < kOperations; ++i) list.append(name_of(static_cast<Operation>(i))).append(", ");
    return list.append("or all");
  }();
  return names;
}

const std::string& algorithm_names() {
  static const std::string names = [] {
    std::string list;
    for (int i = 0; i < kAlgorithms; ++i) list.append(name_of(static_cast<Algorithm>(i))).append(", ");
    return list.append("or all");
  }();
  return names;
}

// "all" stands for every algorithm but auto.
std::vector<Algorithm> algorithm_argument(const std::string& list, bool* all) {
  std::string every;
  for (int i = 1; i < kAlgorithms; ++i) every.append(i > 1 ? "," : "").append(name_of(static_cast<Algorithm>(i)));
  std::string expanded;
  for (const std::string& name : split(list)) {
    *all = *all || name == "all";
    expanded.append(",").append(name == "all" ? every : name);
  }
  return names<Algorithm>("--algorithm", expanded.substr(1), algorithm_names().c_str(),
                          [](const std::string& name) { return parse_algorithm(name); });
}

const char* const kExamples = R"(examples (sizes take K, M and G):
  tutti -n 2 bench all_reduce -b 8 -e 64M -f 2 --backend native,mpi
  tutti -n 4 bench all -e 1M --memory peer-mapped --json result.json
  tutti -n 4 bench all_reduce -b 1M -e 8M -i 1M --algorithm auto,ring,two_shot
  tutti -n 3 bench gather --algorithm all --costs
  tutti bench broadcast -r 1 -d f64 --steady

Every row is one contender at one size: time of a call (median of the rounds; in each round the slowest rank counts),
algbw = bytes / time, busbw = algbw made comparable between collectives (nccl-tests' definition), #wrong = wrong
elements, ratio = the time of mpi (on GPUs: nccl) / this row's time in the same round (median, with its 95 % interval).
All contenders take turns on the same buffers within one run. Unless --steady is given, every rank rewrites its input
before each call and reads its whole output after it, outside the measured time, but for calls up to 4 KiB without a
root on CPUs.

environment:
  TUTTI_TIMEOUT   seconds that a wait may last before the run fails [600]
  TUTTI_DEVICE    where native runs: cpu, gpu, or auto (GPUs if every rank can have one) [auto]
  TUTTI_BACKEND   what other programs of tutti use; here --backend decides)";

}  // namespace

BenchArguments parse_bench(const std::vector<std::string>& arguments) {
  std::string operations, first, last, step, factor, type, op, root = "0", check = "1", calls, warm_up, rounds, again,
                                                               ranks, graph;
  std::string backends, peers, memories = "peer-mapped,any", algorithms = "auto", in_place = "out";
  BenchArguments result;

  CLI::App app("Measures collectives, all contenders in one run.", "tutti bench");
  app.add_option("COLLECTIVE", operations, operation_names() + "; several with commas");
  app.add_option("-b,--minbytes", first, "smallest size [8]");
  app.add_option("-e,--maxbytes", last, "largest size [64M, or -b if that is larger]");
  app.add_option("-f,--stepfactor", factor, "multiply sizes by this number [2]");
  app.add_option("-i,--stepbytes", step, "or add this size");
  app.add_option("--backend", backends,
                 "native, mpi (CPUs), nccl (GPUs); several with commas [native and the other one of the device; native "
                 "alone on emulated GPUs]");
  app.add_option(
      "--peers", peers,
      "libraries to measure beside, in processes of their own: openmpi-best (the best of five settings), mpich, "
      "gloo, ...; several with commas; CPUs only");
  app.add_option("--memory", memories, "peer-mapped, any; several with commas [both]");
  app.add_option("--algorithm", algorithms,
                 "of native: " + algorithm_names() + " (all that the collective has); several with commas [auto]");
  app.add_option("--in-place", in_place, "out (separate buffers), in, or both [out]");
  app.add_option("-d,--datatype", type, "f32, f64, f16, bf16, i8, u8, i32, u32, i64, u64 [f32]");
  app.add_option("-o,--op", op, "sum, prod, min, max, avg [sum]");
  app.add_option("-r,--root", root, "root of broadcast, reduce, gather and scatter: a rank, or all in turn [0]");
  app.add_option("-c,--check", check,
                 "1: compare every result bit for bit (with --steady: of one call before measuring), 0: do not [1]");
  app.add_option("-n,--iters", calls, "calls per round [as many as fill about 15 ms]");
  app.add_option("-w,--warmup_iters", warm_up, "calls before measuring [2]");
  app.add_option("--rounds", rounds, "rounds per size [15]");
  app.add_option("--again", again, "seconds that a close race may run again, with five times the rounds [120]");
  app.add_flag("--steady", result.steady, "leave the buffers alone between calls, as OSU and nccl-tests do");
  app.add_option("--graph", graph, "replay so many calls, captured into one CUDA graph (GPUs)");
  app.add_flag("--costs", result.costs, "show what native's algorithms cost: steps, bytes on the wire");
  app.add_flag("--bounds", result.bounds,
               "measure and show what a call takes at least on this machine, and which share of its time that is; CPUs "
               "only, not with --steady");
  app.add_option("--json", result.json, "also write the rows to this file");
  app.add_flag("--check-arguments", result.check_only)->group("");
  app.add_option("--ranks", ranks)->group("");
  app.footer(kExamples);
  result.help = help_or_read(app, arguments);
  if (result.help) return result;

  if (operations.empty()) throw ArgumentError("which collective? For instance: bench all_reduce (-h lists them)");
  if (operations == "all")
    for (int i = 0; i < kOperations; ++i) result.operations.push_back(static_cast<Operation>(i));
  else
    result.operations = names<Operation>("collective", operations, operation_names().c_str(), parse_operation);
  if (app.get_option("--backend")->count() > 0)
    result.backends = names<BackendKind>("--backend", backends, "native, mpi, nccl", [](const std::string& name) {
      const auto kind = parse_backend(name);
      return kind == BackendKind::automatic ? std::nullopt : kind;
    });
  if (app.get_option("--peers")->count() > 0) {
    result.peers = peers::peers_named(split(peers));
    if (result.peers.empty()) {
      std::string list;
      for (const peers::Setting& peer : peers::known_peers()) list += peer.name + ", ";
      throw ArgumentError(fmt::format("--peers '{}': use {}or openmpi-best; several with commas", peers, list));
    }
  }
  result.memories = names<MemoryKind>("--memory", memories, "peer-mapped, any",
                                      [](const std::string& name) -> std::optional<MemoryKind> {
                                        if (name == name_of(MemoryKind::peer_mapped)) return MemoryKind::peer_mapped;
                                        if (name == name_of(MemoryKind::any)) return MemoryKind::any;
                                        return std::nullopt;
                                      });
  result.algorithms = algorithm_argument(algorithms, &result.all_algorithms);
  if (in_place == "both")
    result.in_place = {false, true};
  else if (in_place == "in" || in_place == "out" || in_place == "out,in" || in_place == "in,out")
    result.in_place = in_place.size() > 3 ? std::vector<bool>{false, true} : std::vector<bool>{in_place == "in"};
  else
    throw ArgumentError(fmt::format("--in-place '{}': use out, in or both", in_place));

  if (!type.empty()) result.type = parse_type(type);
  if (!op.empty()) {
    const auto parsed = parse_reduce_op(op);
    if (!parsed) throw ArgumentError(fmt::format("-o '{}': the operators are sum, prod, min, max, avg", op));
    result.op = *parsed;
  }
  const auto given = [&](const char* option) { return app.get_option(option)->count() > 0; };
  if (given("-b")) result.range.first = size_argument("-b", first);
  result.range.last = std::max(result.range.first, std::size_t{64} << 20);
  if (given("-e")) result.range.last = size_argument("-e", last);
  if (result.range.first > result.range.last)
    throw ArgumentError(fmt::format("-b {} is above -e {}: the smallest size comes first",
                                    given("-b") ? first : exact_size(result.range.first), last));
  if (given("-f") && given("-i"))
    throw ArgumentError("-f and -i exclude each other: sizes grow by a factor or by a step");
  if (given("-f")) result.range.factor = factor_argument(factor);
  if (given("-i")) result.range.step = size_argument("-i", step);
  if (result.range.sizes(kMostSizes).size() > kMostSizes)
    throw ArgumentError(fmt::format("more than {} sizes between {} and {}: use a larger -i or -f", kMostSizes,
                                    exact_size(result.range.first), exact_size(result.range.last)));
  result.root = root == "all" ? kEachRoot : whole_number("-r", root, 0, 1 << 20);
  result.check = whole_number("-c", check, 0, 1) == 1;
  if (given("-n")) result.calls = whole_number("-n", calls, 1, 1000000);
  if (given("-w")) result.warm_up = whole_number("-w", warm_up, 0, 1000000);
  if (given("--rounds")) result.rounds = whole_number("--rounds", rounds, 1, 100000);
  if (given("--again")) result.again_seconds = whole_number("--again", again, 0, 100000);
  if (given("--graph")) result.graph = whole_number("--graph", graph, 1, 10000);
  if (result.graph > 0 && result.in_place.back())
    throw ArgumentError("--graph and --in-place exclude each other: a call in place reduces again what it has reduced");
  if (given("--ranks")) result.ranks = whole_number("--ranks", ranks, 1, 1 << 20);
  if (result.bounds && result.steady)
    throw ArgumentError("--bounds and --steady exclude each other: the bounds are of buffers that are rewritten");
  if (given("--json") && result.json.empty()) throw ArgumentError("--json '': give a file name");
  return result;
}

}  // namespace tutti::bench
