#include "bench/predict/predict_arguments.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <limits>

#include "bench/cases.hpp"
#include "bench/option_values.hpp"
#include "bench/sizes.hpp"
#include "collectives/geometry_gpu.hpp"

namespace tutti::predict {
namespace {

using bench::ArgumentError;
using bench::whole_number;

const char* const kExamples = R"(examples (sizes take K, M and G):
  tutti predict --machines
  tutti predict all_reduce --machine h100x8 -b 8 -e 1G --algorithm all
  tutti predict all_gather,broadcast --machine a100x4 --memory any
  tutti predict all_reduce --machine h100x8 --ranks 1024 --algorithm ring,tree -b 64M -e 64M
  tutti predict --machine h100x8 --sources

Nothing is measured: the library's own kernels run in virtual time, all ranks in one process, on a machine that a small
JSON file describes (docs/predict.md tells its keys, and what the model leaves out). Columns are those of nccl-tests;
wire is what crosses the busiest link one way, limit the time that the fewest possible bytes need on that link as a
part of the predicted time.)";

// Beyond it numbers in the table run into each other, and no buffer is that long.
constexpr std::size_t kMostBytes = std::size_t{1} << 50;

}  // namespace

PredictArguments parse_predict(const std::vector<std::string>& arguments) {
  PredictArguments result;
  std::string collectives, ranks, blocks;
  std::vector<std::pair<std::string, std::string>> passed;  // to bench's reader: option, value
  CLI::App app("Predicts how long collectives would take on a described machine.", "tutti predict");
  app.add_option("COLLECTIVE", collectives,
                 "as for bench: all_reduce, ..., send_recv, barrier, or all; several with commas");
  app.add_option("--machine", result.machine, "its name, or a file that ends in .json [h100x8]");
  app.add_option("-n,--ranks", ranks, "as if the machine had so many [as many as it has]");
  const auto pass = [&](const char* names, const char* option, const char* text) {
    app.add_option_function<std::string>(
        names, [&passed, option](const std::string& value) { passed.emplace_back(option, value); }, text);
  };
  pass("-b,--minbytes", "-b", "smallest size [8]");
  pass("-e,--maxbytes", "-e", "largest size [64M, or -b if that is larger]");
  pass("-f,--stepfactor", "-f", "multiply sizes by this number [2]");
  pass("-i,--stepbytes", "-i", "or add this size");
  pass("--algorithm", "--algorithm", "one of the library's, several with commas, auto, or all [auto]");
  pass("--memory", "--memory", "peer-mapped, any; several with commas [peer-mapped]");
  pass("-t,-d,--type,--datatype", "-d", "f32, f64, f16, bf16, i8, u8, i32, u32, i64, u64 [f32]");
  pass("-o,--op", "-o", "sum, prod, min, max, avg [sum]");
  pass("-r,--root", "-r", "root of broadcast, reduce, gather and scatter: a rank, or all in turn [0]");
  app.add_option("--blocks", blocks, "GPUs: the most of a call; CPUs: those of a call [as the library would run]");
  pass("--json", "--json", "also write the rows to this file");
  app.add_flag("--machines", result.list, "list the machines, and end");
  app.add_flag("--sources", result.sources, "list the machine's numbers and where each comes from, and end");
  app.footer(kExamples);
  result.help = bench::help_or_read(app, arguments);
  if (result.help) return result;
  if (result.list || result.sources) return result;
  if (collectives.empty())
    throw ArgumentError("which collective? For instance: predict all_reduce (-h lists the options)");
  std::vector<std::string> calls = {collectives};
  bool has_memory = false;
  for (const auto& [option, value] : passed) {
    has_memory = has_memory || option == "--memory";
    calls.insert(calls.end(), {option, value});
  }
  if (!has_memory) calls.insert(calls.end(), {"--memory", "peer-mapped"});
  result.calls = bench::parse_bench(calls);
  if (app.get_option("--ranks")->count() > 0) result.ranks = whole_number("--ranks", ranks, kLeastRanks, kMostRanks);
  if (app.get_option("--blocks")->count() > 0) result.blocks = whole_number("--blocks", blocks, 1, kGpuBlocks);
  return result;
}

void check_predict(const PredictArguments& arguments, int ranks) {
  if (arguments.calls.range.last > kMostBytes)
    throw ArgumentError(fmt::format("-e {}: use at most {}", bench::exact_size(arguments.calls.range.last),
                                    bench::exact_size(kMostBytes)));
  bench::check_bench(arguments.calls, ranks, std::numeric_limits<std::size_t>::max());
}

}  // namespace tutti::predict
