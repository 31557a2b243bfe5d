#include "bench/fit/fit_arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "bench/option_values.hpp"
#include "bench/sizes.hpp"
#include "bench/writable.hpp"

namespace tutti::fit {
namespace {

using bench::ArgumentError;

const char* const kExamples = R"(examples:
  tutti fit                              measures at 2 and 4 ranks, some minutes, then fits
  tutti fit --name mine two.json four.json
  tutti fit --judge mine-near.json two.json four.json
  tutti predict all_reduce --machine mine-near.json --algorithm all

FILE: what bench --json wrote, of one machine, best with --backend native --algorithm all. Rows measured while the cores were near
each other (they shared a cache) and far describe two machines: NAME-near.json and NAME-far.json, each from its rows.

Fitted are every other size of the collectives of --fit-on. The other sizes, and the other collectives, only judge: their
errors are shown apart, as those of rows that the fit has not seen. An error is predicted / measured - 1.)";

std::vector<bench::Operation> operations(const std::string& list) {
  std::vector<bench::Operation> result;
  std::istringstream names(list);
  for (std::string name; std::getline(names, name, ',');) {
    bool known = false;
    for (int i = 0; i < bench::kOperations; ++i)
      if (name == bench::name_of(static_cast<bench::Operation>(i))) {
        result.push_back(static_cast<bench::Operation>(i));
        known = true;
      }
    if (name == "all") {
      for (int i = 0; i < bench::kOperations; ++i) result.push_back(static_cast<bench::Operation>(i));
    } else if (!known) {
      throw ArgumentError(
          fmt::format("--fit-on '{}': use bench's collectives, separated by commas, as in all_reduce,broadcast", name));
    }
  }
  if (result.empty()) throw ArgumentError("--fit-on '': name at least one collective");
  return result;
}

double cache(const char* option, const std::string& text) {
  const auto bytes = bench::parse_size(text);
  if (!bytes || *bytes == 0)
    throw ArgumentError(fmt::format("{} '{}': give a size, as in {} 1M", option, text, option));
  return static_cast<double>(*bytes);
}

}  // namespace

FitArguments parse_fit(const std::vector<std::string>& arguments) {
  FitArguments result;
  std::string fitted, core_cache, last_cache;
  bool dry = false;
  CLI::App app("Describes this machine for predict, from what bench measures on it.", "tutti fit");
  app.add_option("FILE", result.files, "JSON files of bench [measure now]");
  auto* const name = app.add_option("--name", result.name, "of the machine, and of the files that are written [cpu]");
  auto* const fit_on = app.add_option("--fit-on", fitted,
                                      "collectives whose times are fitted; the others judge "
                                      "[all_reduce,all_gather,broadcast,send_recv]");
  auto* const core = app.add_option("--core-cache", core_cache, "bytes of a core's own caches [as this system tells]");
  auto* const last = app.add_option("--last-cache", last_cache, "bytes of a last-level cache [the same]");
  auto* const evaluations = app.add_option("--evaluations", result.evaluations, "how long to search [3000]");
  auto* const start = app.add_option("--start", result.start, "search from this machine file on, which a fit wrote");
  auto* const judge = app.add_option("--judge", result.machine, "fit nothing: tell the errors of this machine file");
  app.add_flag("--markdown", result.markdown, "tables for docs");
  app.add_flag("--dry-run", dry, "write no machine files");
  app.add_flag("--check-arguments", result.check_only)->group("");
  app.footer(kExamples);
  result.help = bench::help_or_read(app, arguments);
  if (result.help) return result;
  if (fit_on->count() > 0) result.fitted = operations(fitted);
  if (core->count() > 0) result.core_cache = cache("--core-cache", core_cache);
  if (last->count() > 0) result.last_cache = cache("--last-cache", last_cache);
  if (evaluations->count() > 0 && (result.evaluations < 1 || result.evaluations > 1000000))
    throw ArgumentError(fmt::format("--evaluations {}: use a number from 1 to 1000000", result.evaluations));
  if (judge->count() > 0 && result.machine.empty()) throw ArgumentError("--judge '': give a machine file");
  if (start->count() > 0 && result.start.empty()) throw ArgumentError("--start '': give a machine file");
  if (!result.machine.empty() && result.files.empty())
    throw ArgumentError("--judge needs the files of bench whose rows it is to predict");
  if (name->count() > 0 && (result.name.empty() || result.name.ends_with('/')))
    throw ArgumentError("--name '': give a name for the machine");
  result.write = !dry && result.machine.empty();
  if (result.write && !bench::writable(result.name + "-near.json"))
    throw ArgumentError(fmt::format("--name '{}': cannot write '{}-near.json'", result.name, result.name));
  return result;
}

}  // namespace tutti::fit
