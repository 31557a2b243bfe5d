#include "bench/predict/rows.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "bench/algorithms.hpp"
#include "bench/cases.hpp"
#include "bench/predict/calls.hpp"

namespace tutti::predict {
namespace {

void fill(Row& row, const timed::Machine& machine) {
  try {
    row.prediction = predict(machine, row.question);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    row.refused = error.what();
  }
}

/// An algorithm that was asked for, and that `auto` chose, has one row.
void drop_twins(Group& group) {
  for (std::size_t i = 0; i < group.size();) {
    const bool twin =
        group[i].refused.empty() && std::any_of(group.begin(), group.end(), [&](const Row& row) {
          return &row != &group[i] && row.refused.empty() && row.prediction.algorithm == group[i].prediction.algorithm;
        });
    if (twin && group[i].question.algorithm == Algorithm::automatic)
      group.erase(group.begin() + static_cast<std::ptrdiff_t>(i));
    else
      ++i;
  }
}

void mark(Group& group, const timed::Machine& machine) {
  Question automatic = group.front().question;
  automatic.algorithm = Algorithm::automatic;
  const Algorithm chosen = Calls(machine, automatic).plan().algorithm;
  Row* fastest = nullptr;
  std::size_t predicted = 0;
  for (Row& row : group) {
    if (!row.refused.empty()) continue;
    ++predicted;
    row.chosen = row.prediction.algorithm == chosen;
    if (!fastest || row.prediction.seconds < fastest->prediction.seconds) fastest = &row;
  }
  if (predicted > 1) fastest->fastest = true;
}

}  // namespace

std::vector<Group> groups_of(const PredictArguments& arguments, int ranks) {
  std::vector<Group> groups;
  for (const bench::Operation operation : arguments.calls.operations) {
    const std::vector<Algorithm> known = bench::algorithms_of(operation);
    for (const bench::MemoryKind memory : arguments.calls.memories) {
      if (operation == bench::Operation::barrier && memory != arguments.calls.memories.front()) continue;
      for (const bench::Case& c : bench::cases_of(arguments.calls, operation, ranks, false)) {
        Group group;
        for (const Algorithm algorithm : arguments.calls.algorithms)
          if (algorithm == Algorithm::automatic || std::find(known.begin(), known.end(), algorithm) != known.end())
            group.emplace_back().question = {c, algorithm, memory, arguments.blocks, kFoldedAbove};
        if (!group.empty()) groups.push_back(std::move(group));
      }
    }
  }
  return groups;
}

void predict_all(const timed::Machine& machine, std::vector<Group>& groups,
                 const std::function<void(const Group&)>& done) {
  std::vector<std::pair<std::size_t, Row*>> jobs;
  std::vector<std::size_t> left;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    left.push_back(groups[g].size());
    for (Row& row : groups[g]) jobs.emplace_back(g, &row);
  }
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::condition_variable changed;
  std::exception_ptr failure;
  const auto work = [&] {
    for (std::size_t i; (i = next++) < jobs.size();) {
      std::exception_ptr thrown;
      try {
        fill(*jobs[i].second, machine);
      } catch (...) {
        thrown = std::current_exception();
        next = jobs.size();
      }
      const std::lock_guard lock(mutex);
      if (thrown && !failure) failure = thrown;
      --left[jobs[i].first];
      changed.notify_one();
    }
  };
  std::vector<std::jthread> workers;
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  for (std::size_t i = 0; i < std::min(cores, jobs.size()); ++i) workers.emplace_back(work);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return left[g] == 0 || failure; });
    if (failure) break;
    lock.unlock();
    drop_twins(groups[g]);
    mark(groups[g], machine);
    done(groups[g]);
  }
  workers.clear();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace tutti::predict
