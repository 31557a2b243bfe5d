#include "tests/model/check_work.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>

#include "tests/model/check_sequences.hpp"

namespace tutti::model {
namespace {

/// The schedules of all groups, by number.
class Order {
 public:
  explicit Order(const std::vector<Group>& groups) {
    for (const Group& g : groups) ends_.push_back(size() + g.seeds);
    // Far from itself and coprime to the size: neighbours are of different groups, and all come once.
    stride_ = size() / 1000 * 618 + size() % 1000 * 618 / 1000 + 1;
    while (size() > 0 && std::gcd(stride_, size()) != 1) ++stride_;
  }
  std::uint64_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  /// Of the schedule that is run as the i-th: its group, and its place there.
  std::pair<std::size_t, std::uint64_t> at(std::uint64_t i) const {
    const auto number = static_cast<std::uint64_t>(static_cast<unsigned __int128>(i) * stride_ % size());
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), number);
    const std::uint64_t begin = end == ends_.begin() ? 0 : *std::prev(end);
    return {static_cast<std::size_t>(end - ends_.begin()), number - begin};
  }

 private:
  std::vector<std::uint64_t> ends_;
  std::uint64_t stride_ = 1;
};

/// Nothing if the kernel does not take it.
std::optional<Outcome> run_one(const Group& group, const Work& work, std::uint64_t seed) {
  if (!group.kernel) return run_sequence(group.ranks, seed, work.plant);
  const std::optional<Trial> trial = trial_of(*group.kernel, group.ranks, work.pins, seed);
  if (!trial) return {};
  return run_trial(*trial, work.plant);
}

}  // namespace

std::uint64_t schedules_of(const Work& work) { return Order(work.groups).size(); }

Result run_work(const Work& work, const Show& show) {
  using Time = std::chrono::steady_clock;
  const auto start = Time::now();
  const Order order(work.groups);
  Result result;
  result.done.resize(work.groups.size());
  std::mutex mutex;
  std::uint64_t next = 0, done = 0;
  std::map<std::optional<Kernel>, std::pair<std::uint64_t, Found>> found;  // the place in the order, and what

  const auto one = [&](std::uint64_t i, std::unique_lock<std::mutex>& lock) {
    const auto [index, place] = order.at(i);
    const Group& group = work.groups[index];
    Done& its = result.done[index];
    const bool late = work.seconds > 0 && std::chrono::duration<double>(Time::now() - start).count() > work.seconds;
    if (late || found.count(group.kernel)) {
      ++its.left_out;
      return;
    }
    lock.unlock();
    const std::uint64_t seed = group.first_seed + place;
    std::optional<Outcome> outcome;
    try {
      outcome = run_one(group, work, seed);
    } catch (const std::exception& error) {
      outcome = Outcome{.text = std::string("could not be run: ").append(error.what()).append("\n")};
    }
    lock.lock();
    if (!outcome) {
      ++its.not_taken;
      return;
    }
    ++its.schedules;
    its.words += outcome->words;
    if (outcome->clean()) return;
    // Another thread may be at an earlier place still: the first counts, so that a run tells the same again.
    const auto known = found.find(group.kernel);
    if (known != found.end() && known->second.first < i) return;
    std::optional<Trial> trial;
    if (group.kernel) trial = trial_of(*group.kernel, group.ranks, work.pins, seed);
    found.insert_or_assign(group.kernel, std::pair{i, Found{group, seed, trial, outcome->text}});
  };
  const auto work_on = [&] {
    std::unique_lock lock(mutex);
    while (next < order.size()) {
      const std::uint64_t i = next++;
      one(i, lock);
      show(work.groups[order.at(i).first], ++done);
    }
  };
  {
    std::vector<std::jthread> others;
    for (unsigned job = 1; job < work.jobs; ++job) others.emplace_back(work_on);
    work_on();
  }
  std::vector<std::pair<std::uint64_t, Found>> all;
  for (auto& [kernel, its] : found) all.push_back(std::move(its));
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [i, what] : all) result.found.push_back(std::move(what));
  return result;
}

}  // namespace tutti::model
