#include "bench/fit/judge.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <thread>

#include "bench/statistics.hpp"

namespace tutti::fit {

double Judged::off() const {
  const double ratio = predicted / measured.seconds;
  return std::max(ratio, 1 / ratio) - 1;
}

std::vector<Judged> judge(const timed::Machine& machine, std::span<const Measured> rows) {
  std::vector<Judged> judged;
  judged.reserve(rows.size());
  for (const Measured& row : rows) judged.push_back({row, 0});
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex mutex;
  const auto work = [&] {
    try {
      for (std::size_t i; (i = next++) < judged.size();)
        judged[i].predicted = predict::predict(machine, judged[i].measured.question).seconds;
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) others.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
  return judged;
}

Summary summary_of(std::span<const Judged> rows) {
  Summary summary{.rows = rows.size()};
  if (rows.empty()) return summary;
  std::vector<double> errors, sizes;
  for (const Judged& row : rows) {
    errors.push_back(row.error());
    sizes.push_back(std::abs(row.error()));
  }
  std::sort(sizes.begin(), sizes.end());
  summary.median = bench::median(sizes);
  summary.ninetieth = sizes[static_cast<std::size_t>(0.9 * static_cast<double>(sizes.size() - 1) + 0.5)];
  summary.bias = bench::median(errors);
  return summary;
}

std::map<std::string, Summary> summaries(std::span<const Judged> rows,
                                         const std::function<std::string(const Judged&)>& group) {
  std::map<std::string, std::vector<Judged>> groups;
  for (const Judged& row : rows) groups[group(row)].push_back(row);
  std::map<std::string, Summary> result;
  for (const auto& [name, its] : groups) result[name] = summary_of(its);
  return result;
}

double misfit(std::span<const Judged> rows) {
  constexpr double kFar = 0.7;                      // twice as long, or half
  std::map<int, std::pair<double, double>> worlds;  // by ranks: sum and rows
  for (const Judged& row : rows) {
    const double off = std::abs(std::log(row.predicted / row.measured.seconds));
    auto& [sum, many] = worlds[row.measured.question.c.ranks];
    sum += off < kFar ? off : kFar + (off - kFar) / 4;
    ++many;
  }
  double sum = 0;
  for (const auto& [ranks, its] : worlds) sum += its.first / its.second;
  return worlds.empty() ? 0 : sum / static_cast<double>(worlds.size());
}

}  // namespace tutti::fit
