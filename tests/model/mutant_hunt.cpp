#include "tests/model/mutant_hunt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <mutex>

#include "tests/harmless.hpp"
#include "tests/on_all_cores.hpp"

namespace tutti::mutants {
namespace {

std::vector<Kernel> every_kernel() {
  std::vector<Kernel> all;
  for (int k = 0; k < kKernels; ++k) all.push_back(static_cast<Kernel>(k));
  return all;
}

/// How a mutant may be found, in the order of the table's columns.
constexpr const char* kWays[] = {"race",      "missing sync", "deadlock", "counts",       "stray",
                                 "unwritten", "overwritten",  "failed",   "wrong result", "mismatch not noticed"};

/// The mutants of a kernel, or of all, counted.
struct Row {
  std::string kernel;
  std::size_t mutants = 0, caught = 0;
  std::size_t ways[std::size(kWays)] = {};
  std::vector<int> seeds;  // of those that were caught

  void add(const Caught& mutant) {
    ++mutants;
    if (!mutant.fate.found) return;
    ++caught;
    seeds.push_back(mutant.fate.seeds);
    for (std::size_t w = 0; w < std::size(kWays); ++w) ways[w] += mutant.fate.found.how == kWays[w];
  }
  std::string text() {
    std::string line = fmt::format("{:<30}{:>8}{:>8}{:>10}", kernel, mutants, caught, mutants - caught);
    for (const std::size_t n : ways) line += fmt::format("{:>7}", n ? fmt::to_string(n) : "-");
    std::sort(seeds.begin(), seeds.end());
    return line +
           fmt::format("{:>8}{:>6}\n", seeds.empty() ? 0 : seeds[seeds.size() / 2], seeds.empty() ? 0 : seeds.back());
  }
};

}  // namespace

Bag run(const Hunt& hunt) {
  const tests::Harmless harmless(hunt.harmless);
  const Mutants mutants(hunt.kernels.empty() ? every_kernel() : hunt.kernels, hunt.sources);
  Bag bag;
  bag.words = mutants.sites();
  std::vector<const Mutant*> chosen;
  for (std::size_t m = 0; m < mutants.all().size(); m += hunt.every) chosen.push_back(&mutants.all()[m]);
  bag.mutants.resize(chosen.size());
  std::mutex mutex;
  std::size_t done = 0;
  tests::on_all_cores(chosen.size(), [&](std::size_t m) {
    const std::string& name = chosen[m]->name;
    const std::string* const reason = harmless.why(name);
    const int seeds = reason ? std::min(hunt.seeds, hunt.seeds_of_listed) : hunt.seeds;
    bag.mutants[m] = {chosen[m]->sites.front().kernel, name, fate_of(*chosen[m], seeds), reason ? *reason : ""};
    const std::scoped_lock lock(mutex);
    ++done;
    if (hunt.progress) hunt.progress(done, chosen.size());
  });

  std::vector<tests::Verdict> verdicts;
  for (const Caught& mutant : bag.mutants) verdicts.push_back({mutant.name, static_cast<bool>(mutant.fate.found)});
  bag.complaints = harmless.unlisted(verdicts);
  const auto complain = [&](const std::vector<std::string>& more) {
    bag.complaints.insert(bag.complaints.end(), more.begin(), more.end());
  };
  complain(harmless.found_though_listed(verdicts));
  if (hunt.kernels.empty()) {
    for (const std::string& word : mutants.untouched())
      bag.complaints.push_back(fmt::format("{}: no mutant changes this word, for no setting runs it", word));
    if (hunt.every == 1) complain(harmless.stale(verdicts));
  }
  return bag;
}

std::string table_of(const Bag& bag) {
  std::vector<Row> rows;
  Row all;
  all.kernel = "all";
  std::vector<std::pair<std::string, std::size_t>> reasons;
  for (const Caught& mutant : bag.mutants) {
    auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.kernel == mutant.kernel; });
    if (row == rows.end()) {
      row = rows.emplace(rows.end());
      row->kernel = mutant.kernel;
    }
    row->add(mutant);
    all.add(mutant);
    if (mutant.fate.found) continue;
    const std::string why = mutant.reason.empty() ? "not listed" : mutant.reason;
    auto reason = std::find_if(reasons.begin(), reasons.end(), [&](const auto& r) { return r.first == why; });
    if (reason == reasons.end()) reason = reasons.insert(reasons.end(), {why, 0});
    ++reason->second;
  }
  std::string text = fmt::format("{:<30}{:>8}{:>8}{:>10}{:>70}{:>14}\n{:<30}{:>8}{:>8}{:>10}", "", "", "", "",
                                 "found first", "seeds", "kernel", "mutants", "found", "harmless");
  for (const char* way : {"race", "sync", "dead", "counts", "stray", "unwr", "overwr", "failed", "wrong", "misma"})
    text += fmt::format("{:>7}", way);
  text += fmt::format("{:>8}{:>6}\n", "median", "most");
  for (Row& row : rows) text += row.text();
  text += all.text();
  if (!reasons.empty()) text += "\nWhy the others do no harm:\n";
  std::stable_sort(reasons.begin(), reasons.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [why, number] : reasons) text += fmt::format("{:>6}  {}\n", number, why);
  return text;
}

}  // namespace tutti::mutants
