// tutti-fit: describes this machine for predict, from what bench measures on it.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "bench/fit/bench_run.hpp"
#include "bench/fit/described.hpp"
#include "bench/fit/fit_arguments.hpp"
#include "bench/fit/fit_report.hpp"
#include "bench/fit/parameters.hpp"

namespace tutti::fit {
namespace {

constexpr std::size_t kLeastRows = 40;  // for two dozen numbers

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

std::vector<Verdict> verdicts_of(const timed::Machine& machine, const Parts& parts) {
  return {{"fitted", judge(machine, parts.fitted)},
          {"sizes not fitted", judge(machine, parts.sizes)},
          {"collectives not fitted", judge(machine, parts.collectives)}};
}

Summary of_judges(const std::vector<Verdict>& verdicts) {
  std::vector<Judged> rows = verdicts[1].rows;
  rows.insert(rows.end(), verdicts[2].rows.begin(), verdicts[2].rows.end());
  return summary_of(rows);
}

/// Fits one placement's rows; false if they are too few.
bool fit_placement(const FitArguments& arguments, const Measurements& all, bench::Placement placement,
                   const std::string& date) {
  const std::vector<Measured> rows = of_placement(all.rows, placement);
  if (rows.empty()) return false;
  print(fmt::format("\n# {} rows measured while the cores were {}\n", rows.size(), name_of(placement)));
  const Parts parts = split(rows, arguments.fitted);
  if (parts.fitted.size() < kLeastRows) {
    print(
        fmt::format("# {} to fit are too few for a machine: measure more algorithms and sizes\n", parts.fitted.size()));
    return false;
  }
  CacheSizes caches = this_machines_caches();
  if (arguments.core_cache > 0) caches.core = arguments.core_cache;
  if (arguments.last_cache > 0) caches.last = arguments.last_cache;
  if (caches.core <= 0 || caches.last <= 0)
    throw bench::ArgumentError("the system does not tell its caches: give --core-cache and --last-cache");
  timed::Machine start = first_guess(all.cores, caches, placement);
  if (!arguments.start.empty()) {
    start = predict::machine_for(arguments.start).machine;
    if (start.is_gpu || start.cores != all.cores)
      throw bench::ArgumentError(fmt::format("--start {}: not a machine of CPUs with {} cores, as the files tell",
                                             arguments.start, all.cores));
    const bool is_far = placement == bench::Placement::far;
    if ((start.last_caches > 1) != is_far) return false;
  }
  const bool shown = isatty(STDERR_FILENO) != 0;
  const Fit fitted = fit(start, parts.fitted, arguments.evaluations, [&](int evaluations, double misfit) {
    if (shown) fmt::print(stderr, "\rfitting: {} tries, mean error {:.3f} ", evaluations, misfit);
  });
  if (shown) fmt::print(stderr, "\n");
  print(numbers_text(fitted));
  const std::vector<Verdict> verdicts = verdicts_of(fitted.machine, parts);
  print(errors_text(verdicts, arguments.markdown));
  if (!arguments.write) return true;
  const std::string name = fmt::format("{}-{}", arguments.name, name_of(placement));
  const std::string file = name + ".json";
  std::ofstream out(file);
  out << write_machine(described(fitted, all, name.substr(name.rfind('/') + 1), placement, date, of_judges(verdicts)))
      << std::flush;
  if (!out) throw std::runtime_error(fmt::format("cannot write '{}'", file));
  print(fmt::format("\nwrote {}: tutti predict all_reduce --machine ./{} --algorithm all\n", file, file));
  return true;
}

int judge_machine(const FitArguments& arguments, const Measurements& all) {
  const timed::Machine machine = predict::machine_for(arguments.machine).machine;
  if (machine.is_gpu)
    throw bench::ArgumentError(fmt::format("--judge {}: a machine of GPUs; fit knows CPUs only", arguments.machine));
  const bench::Placement placement = machine.last_caches > 1 ? bench::Placement::far : bench::Placement::near;
  const Parts parts = split(of_placement(all.rows, placement), arguments.fitted);
  print(fmt::format("# {}: {}\n# rows measured while the cores were {}\n", machine.name, machine.about,
                    name_of(placement)));
  print(errors_text(verdicts_of(machine, parts), arguments.markdown));
  return 0;
}

std::vector<std::string> measured_files(const FitArguments& arguments) {
  if (!arguments.files.empty()) return arguments.files;
  std::string folder = "/tmp/tutti-fit-XXXXXX";
  if (!mkdtemp(folder.data())) throw std::runtime_error("cannot make a folder in /tmp");
  print(
      fmt::format("# bench's files are in {}; they take some minutes, and want the machine for themselves\n", folder));
  return measure_here(folder, [](const std::string& text) { print(text + "\n"); });
}

int run(const std::vector<std::string>& words) {
  try {
    const FitArguments arguments = parse_fit(words);
    if (arguments.help) {
      print(*arguments.help);
      return 0;
    }
    if (arguments.check_only) return 0;
    const std::vector<std::string> files = measured_files(arguments);
    const Measurements all = read_measurements(files);
    print(fmt::format("# {} rows of {} files, measured on {} cores of {}; {} left out\n", all.rows.size(), files.size(),
                      all.cores, all.cpu, all.left_out.size()));
    for (const std::string& why : all.left_out) print(fmt::format("#   left out: {}\n", why));
    if (!arguments.machine.empty()) return judge_machine(arguments, all);
    bool any = false;
    const std::string date = date_of(files);
    for (const bench::Placement placement : {bench::Placement::near, bench::Placement::far})
      any |= fit_placement(arguments, all, placement, date);
    if (!any) throw FileError("no placement has enough rows: measure with bench --backend native --algorithm all");
    return 0;
  } catch (const bench::ArgumentError& error) {
    fmt::print(stderr, "tutti fit: {}\n", error.what());
    return 2;
  } catch (const FileError& error) {
    fmt::print(stderr, "tutti fit: {}\n", error.what());
    return 2;
  } catch (const predict::MachineError& error) {
    fmt::print(stderr, "tutti fit: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "tutti fit: {}\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace tutti::fit

int main(int argc, char** argv) { return tutti::fit::run({argv + 1, argv + argc}); }
