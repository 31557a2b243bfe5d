#include "bench/tune/predicted.hpp"

#include <fmt/core.h>

#include "bench/algorithms.hpp"
#include "bench/predict/rows.hpp"

namespace tutti::tune {

std::vector<Timing> predicted(const predict::MachineFile& machine, const TuneArguments& arguments,
                              const std::vector<int>& worlds, const std::function<void(const std::string&)>& progress) {
  std::vector<Timing> timings;
  predict::PredictArguments questions;
  for (const int ranks : worlds)
    for (const bench::Operation operation : arguments.calls.operations) {
      progress(fmt::format("{} of {} ranks", name_of(operation), ranks));
      questions.calls = arguments.calls;
      questions.calls.operations = {operation};
      std::vector<predict::Group> groups = predict::groups_of(questions, ranks);
      predict::predict_all(machine.machine, groups, [](const predict::Group&) {});
      for (const predict::Group& group : groups)
        for (const predict::Row& row : group) {
          if (!row.refused.empty()) continue;
          const auto* const of = implementation_of(bench::collective_of(operation), row.prediction.algorithm);
          timings.push_back(
              {of, row.question.c, row.question.memory, bench::Placement::unknown, row.prediction.seconds});
        }
    }
  return timings;
}

}  // namespace tutti::tune
