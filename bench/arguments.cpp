#include "bench/arguments.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>

namespace tutti::bench {
namespace {

constexpr std::size_t kMostSizes = 1000;

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t comma = list.find(',', begin);
    parts.push_back(list.substr(begin, comma - begin));
    if (comma == std::string::npos) return parts;
    begin = comma + 1;
  }
}

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
  if (name == "sendrecv") return Operation::send_recv;  // nccl-tests' name
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

int whole_number(const char* option, const std::string& text, int least, int most) {
  int value = 0;
  const bool digits = !text.empty() && text.size() <= 9 && text.find_first_not_of("0123456789") == std::string::npos;
  if (digits) value = std::stoi(text);
  if (!digits || value < least || value > most)
    throw ArgumentError(fmt::format("{} '{}': use a whole number from {} to {}", option, text, least, most));
  return value;
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

// Whether a file can be written there, or made. Opens nothing: a pipe would wait for its reader. Follows links.
bool writable(const std::string& name) {
  struct stat found {};
  if (stat(name.c_str(), &found) == 0)
    return (S_ISREG(found.st_mode) || S_ISCHR(found.st_mode)) && access(name.c_str(), W_OK) == 0;
  if (errno != ENOENT) return false;
  std::error_code fault;
  std::filesystem::path path = name;
  while (std::filesystem::is_symlink(std::filesystem::symlink_status(path, fault))) {
    const std::filesystem::path target = std::filesystem::read_symlink(path, fault);
    if (fault) return false;
    path = path.parent_path() / target;
  }
  if (!path.has_filename()) return false;
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  return std::filesystem::is_directory(folder, fault) && access(folder.c_str(), W_OK | X_OK) == 0;
}

const char* const kExamples = R"(examples (sizes take K, M and G):
  tutti -n 2 bench all_reduce -b 8 -e 64M -f 2 --backend native,mpi
  tutti -n 4 bench all -e 1M --memory peer-mapped --json result.json
  tutti -n 4 bench all_reduce -b 1M -e 8M -i 1M --algorithm auto,ring,two_shot
  tutti bench broadcast -r 1 -d f64 --steady

Every row is one contender at one size: time of a call (median of the rounds; in each round the slowest rank counts),
algbw = bytes / time, busbw = algbw made comparable between collectives (nccl-tests' definition), #wrong = wrong
elements, ratio = mpi's time / this row's time in the same round (median, with its 95 % interval). All contenders take
turns on the same buffers within one run. Unless --steady is given, every rank rewrites its input before each call and
reads its whole output after it, outside the measured time above 4 KiB.

environment:
  TUTTI_TIMEOUT   seconds that a wait may last before the run fails [600]
  TUTTI_DEVICE    cpu; this version's bench runs on the CPU only [cpu]
  TUTTI_BACKEND   what other programs of tutti use; here --backend decides)";

}  // namespace

BenchArguments parse_bench(const std::vector<std::string>& arguments) {
  std::string operations, first, last, step, factor, type, op, root = "0", check = "1", calls, warm_up, rounds, ranks;
  std::string backends = "native,mpi", memories = "peer-mapped,any", algorithms = "auto", in_place = "out";
  BenchArguments result;

  CLI::App app("Measures collectives, all contenders in one run.", "tutti bench");
  app.add_option("COLLECTIVE", operations,
                 "all_reduce, reduce_scatter, all_gather, broadcast, send_recv, barrier or all; several with commas");
  app.add_option("-b,--minbytes", first, "smallest size [8]");
  app.add_option("-e,--maxbytes", last, "largest size [64M, or -b if that is larger]");
  app.add_option("-f,--stepfactor", factor, "multiply sizes by this number [2]");
  app.add_option("-i,--stepbytes", step, "or add this size");
  app.add_option("--backend", backends, "native, mpi; several with commas [native,mpi]");
  app.add_option("--memory", memories, "peer-mapped, any; several with commas [both]");
  app.add_option("--algorithm", algorithms,
                 "of native: auto, ring, one_shot, two_shot, direct; several with commas [auto]");
  app.add_option("--in-place", in_place, "out (separate buffers), in, or both [out]");
  app.add_option("-d,--datatype", type, "f32, f64, f16, bf16, i8, u8, i32, u32, i64, u64 [f32]");
  app.add_option("-o,--op", op, "sum, prod, min, max, avg [sum]");
  app.add_option("-r,--root", root, "root of broadcast [0]");
  app.add_option("-c,--check", check,
                 "1: compare every result bit for bit (with --steady: of one call before measuring), 0: do not [1]");
  app.add_option("-n,--iters", calls, "calls per round [as many as fill about 15 ms]");
  app.add_option("-w,--warmup_iters", warm_up, "calls before measuring [2]");
  app.add_option("--rounds", rounds, "rounds per size [15]");
  app.add_flag("--steady", result.steady, "leave the buffers alone between calls, as OSU and nccl-tests do");
  app.add_option("--json", result.json, "also write the rows to this file");
  app.add_flag("--check-arguments", result.check_only)->group("");
  app.add_option("--ranks", ranks)->group("");
  app.footer(kExamples);
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    result.help = app.help();
    return result;
  } catch (const CLI::ParseError& error) {
    throw ArgumentError(fmt::format("{} (-h lists the options)", error.what()));
  }

  if (operations.empty()) throw ArgumentError("which collective? For instance: bench all_reduce (-h lists them)");
  if (operations == "all")
    for (int i = 0; i < kOperations; ++i) result.operations.push_back(static_cast<Operation>(i));
  else
    result.operations = names<Operation>(
        "collective", operations, "all_reduce, reduce_scatter, all_gather, broadcast, send_recv, barrier, or all",
        parse_operation);
  result.backends = names<BackendKind>("--backend", backends, "native, mpi", [](const std::string& name) {
    const auto kind = parse_backend(name);
    if (kind == BackendKind::nccl) throw ArgumentError("--backend nccl: not in this version; use native, mpi");
    return kind == BackendKind::automatic ? std::nullopt : kind;
  });
  result.memories = names<MemoryKind>("--memory", memories, "peer-mapped, any",
                                      [](const std::string& name) -> std::optional<MemoryKind> {
                                        if (name == name_of(MemoryKind::peer_mapped)) return MemoryKind::peer_mapped;
                                        if (name == name_of(MemoryKind::any)) return MemoryKind::any;
                                        return std::nullopt;
                                      });
  result.algorithms = names<Algorithm>("--algorithm", algorithms, "auto, ring, one_shot, two_shot, direct",
                                       [](const std::string& name) { return parse_algorithm(name); });
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
  result.root = whole_number("-r", root, 0, 1 << 20);
  result.check = whole_number("-c", check, 0, 1) == 1;
  if (given("-n")) result.calls = whole_number("-n", calls, 1, 1000000);
  if (given("-w")) result.warm_up = whole_number("-w", warm_up, 0, 1000000);
  if (given("--rounds")) result.rounds = whole_number("--rounds", rounds, 1, 100000);
  if (given("--ranks")) result.ranks = whole_number("--ranks", ranks, 1, 1 << 20);
  if (given("--json") && result.json.empty()) throw ArgumentError("--json '': give a file name");
  return result;
}

std::vector<Case> cases_of(const BenchArguments& arguments, Operation operation, int ranks, bool in_place) {
  Case shape;
  shape.operation = operation;
  shape.ranks = ranks;
  shape.type = arguments.type;
  shape.op = arguments.op;
  shape.root = arguments.root;
  shape.in_place = in_place;
  const bool two_ways =
      operation != Operation::broadcast && operation != Operation::send_recv && operation != Operation::barrier;
  if (operation == Operation::send_recv && ranks < 2) return {};
  if (!two_ways) {
    if (in_place != arguments.in_place.front()) return {};
    shape.in_place = false;
  }
  if (operation == Operation::barrier) return {case_of(0, shape)};
  std::vector<Case> cases;
  for (std::size_t size : arguments.range.sizes(kMostSizes)) {
    const Case next = case_of(size, shape);
    if (next.count > 0 && (cases.empty() || cases.back().bytes != next.bytes)) cases.push_back(next);
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
