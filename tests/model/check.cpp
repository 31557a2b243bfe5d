// The program behind `./tutti check`: every kernel in the model, in many schedules.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "tests/model/check_plan.hpp"
#include "tests/model/check_report.hpp"
#include "tests/model/mutant_program.hpp"

namespace tutti::model {
namespace {

int check(const Options& options) {
  if (options.mutants)
    return mutants::hunt_and_tell(options.kernels, static_cast<int>(options.seeds.value_or(200)), options.jobs);
  const Work work = work_for(options);
  const auto start = std::chrono::steady_clock::now();
  Result result;
  {
    Progress progress(schedules_of(work));
    result = run_work(work, [&](const Group& group, std::uint64_t done) { progress.show(group, done); });
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::uint64_t schedules = 0;
  for (const Done& done : result.done) schedules += done.schedules;
  if (schedules == 0) throw OptionError("no kernel takes this combination of type, operation and the rest");
  // One defect shows in many places: all are told where one kernel was asked for.
  const bool one_kernel = options.kernels.size() + options.sequences == 1;
  for (const Found& found : result.found)
    fmt::print("{}  again: {}\n\n", text_of(found, one_kernel ? 100 : 3), command_for(found, work.plant));
  if (work.plant) fmt::print("Planted: rank {} leaves out {}.\n", work.plant->rank, text_of(*work.plant));
  fmt::print("{}", summary_of(work, result, seconds));
  // One rank was among those that were asked for, or would have been.
  if (options.ranks.empty() || options.ranks.front() == 1)
    fmt::print("Worlds of one rank have nothing to check: the layer above copies, no kernel runs.\n");
  return result.found.empty() ? 0 : 1;
}

}  // namespace
}  // namespace tutti::model

int main(int argc, char** argv) {
  using namespace tutti::model;
  try {
    std::string help;
    const auto options = parse_options({argv + 1, argv + argc}, help);
    int code = 0;
    if (options)
      code = check(*options);
    else
      fmt::print("{}", help);
    if (std::fflush(stdout) != 0) throw std::runtime_error("cannot write to the standard output");
    return code;
  } catch (const std::exception& error) {
    fmt::print(stderr, "tutti check: {}\n", error.what());
    return 2;
  }
}
