// tutti-predict: how long collectives would take on a described machine.
#include <fmt/core.h>

#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "bench/predict/predict_report.hpp"
#include "bench/predict/predict_table.hpp"

namespace tutti::predict {
namespace {

std::string command_line(const std::vector<std::string>& words) {
  std::string line = "tutti predict";
  for (const std::string& word : words) line.append(" ").append(word);
  return line;
}

void print(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0)
    throw std::runtime_error("cannot write to the standard output");
}

int show(const PredictArguments& arguments, const std::vector<std::string>& words) {
  const MachineFile machine = machine_for(arguments.machine);
  if (arguments.sources) {
    print(list_of_sources(machine));
    return 0;
  }
  const int ranks = arguments.ranks > 0 ? arguments.ranks : machine.machine.ranks;
  if (ranks < kLeastRanks || ranks > kMostRanks)
    throw MachineError(fmt::format("machine '{}' has {} ranks: give --ranks, from {} to {}", machine.machine.name,
                                   ranks, kLeastRanks, kMostRanks));
  check_predict(arguments, ranks);
  PredictTable table(arguments, machine, ranks);
  print(table.header());
  std::vector<Group> groups = groups_of(arguments, ranks);
  predict_all(machine.machine, groups, [&](const Group& group) { print(table.lines(group)); });
  print(table.footer(groups));
  if (!arguments.calls.json.empty()) {
    std::ofstream file(arguments.calls.json);
    file << predict_report(machine, command_line(words), groups) << std::flush;
    if (!file) {
      fmt::print(stderr, "tutti predict: cannot write '{}'\n", arguments.calls.json);
      return 1;
    }
  }
  return 0;
}

int run(const std::vector<std::string>& words) {
  try {
    const PredictArguments arguments = parse_predict(words);
    if (arguments.help) {
      print(*arguments.help);
      return 0;
    }
    if (arguments.list) {
      print(list_of_machines());
      return 0;
    }
    return show(arguments, words);
  } catch (const bench::ArgumentError& error) {
    fmt::print(stderr, "tutti predict: {}\n", error.what());
    return 2;
  } catch (const MachineError& error) {
    fmt::print(stderr, "tutti predict: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "tutti predict: {}\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace tutti::predict

int main(int argc, char** argv) { return tutti::predict::run({argv + 1, argv + argc}); }
