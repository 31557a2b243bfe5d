#include "bench/topo_arguments.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cmath>

#include "bench/arguments.hpp"
#include "bench/option_values.hpp"
#include "bench/sizes.hpp"
#include "bench/writable.hpp"

namespace tutti::bench {
namespace {

const char* const kExamples = R"(examples:
  tutti topo
  tutti -n 8 topo --seconds 10 --json topo.json
  tutti -n 2 topo -b 64M
  mpirun -n 4 --map-by core --bind-to core build/host/bin/tutti-topo     the CPUs that this launcher chooses

The first matrix says how near the ranks are to each other and to the machine's GPUs and network adapters, and its
legend what that means. The others are measured, one pair at a time while the other ranks sleep, with tutti's own send
and receive: the latency is half of a round trip of 8 bytes, the bandwidth that of a stream of messages from memory that
peers reach. On CPUs every rank is held on one CPU meanwhile, so that a pair is two CPUs; --no-hold leaves that to the
launcher and the kernel.

environment:
  TUTTI_TIMEOUT   seconds that a wait may last before the run fails [600]
  TUTTI_DEVICE    cpu, gpu or auto: where the ranks' memory is [auto]
  TUTTI_BACKEND   what other programs of tutti use; topo measures native)";

double seconds_argument(const std::string& text) {
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  const bool plain = !text.empty() && text.find_first_not_of("0123456789.") == std::string::npos && *end == '\0';
  if (!plain || !(seconds > 0) || seconds > 86400)
    throw ArgumentError(fmt::format("--seconds '{}': use a number above 0, as in --seconds 5", text));
  return seconds;
}

std::size_t bytes_argument(const std::string& text) {
  const auto bytes = parse_size(text);
  if (!bytes || *bytes < 8)
    throw ArgumentError(
        fmt::format("-b '{}': use a whole number of bytes from 8 on, with K, M or G for 1024-based units", text));
  return *bytes;
}

}  // namespace

TopoArguments parse_topo(const std::vector<std::string>& arguments) {
  TopoArguments result;
  std::string bytes, seconds;
  bool no_hold = false, map_only = false;
  CLI::App app("The matrix of ranks and devices: links, NUMA, measured latency and bandwidth.", "tutti topo");
  auto* const bytes_option = app.add_option("-b,--bytes", bytes, "size of the messages for bandwidth [8M]");
  auto* const seconds_option = app.add_option("--seconds", seconds, "to measure, all pairs together, about [2]");
  app.add_flag("--map-only", map_only, "measure nothing");
  app.add_flag("--no-hold", no_hold, "let ranks move between CPUs while they measure");
  auto* const json_option = app.add_option("--json", result.json, "also write everything to this file");
  app.add_flag("--check-arguments", result.check_only)->group("");
  app.add_option("--ranks", result.ranks)->group("");
  app.footer(kExamples);
  result.help = help_or_read(app, arguments);
  if (result.help) return result;
  if (bytes_option->count() > 0) result.bytes = bytes_argument(bytes);
  if (seconds_option->count() > 0) result.seconds = seconds_argument(seconds);
  if (json_option->count() > 0 && result.json.empty()) throw ArgumentError("--json '': give a file name");
  result.hold = !no_hold;
  result.measure = !map_only;
  return result;
}

void check_topo(const TopoArguments& arguments, int ranks, std::size_t free) {
  const double needed = static_cast<double>(arguments.bytes) * ranks;
  if (arguments.measure && ranks > 1 && needed > static_cast<double>(free))
    throw ArgumentError(fmt::format("-b {} needs {:.0f} bytes ({}) for {} ranks, but only {} bytes ({}) are free",
                                    exact_size(arguments.bytes), needed, readable_bytes(needed), ranks, free,
                                    readable_bytes(static_cast<double>(free))));
  if (!arguments.json.empty() && !writable(arguments.json))
    throw ArgumentError(fmt::format("--json '{}': cannot write this file", arguments.json));
}

}  // namespace tutti::bench
