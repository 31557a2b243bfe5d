#include "tests/model/mutant_hunt.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <map>
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

/// How a mutant may be found, and the head of the table's column.
struct Way {
  const char* how;
  const char* head;
};
constexpr Way kWays[] = {{"race", "race"},
                         {"missing sync", "sync"},
                         {"deadlock", "deadlock"},
                         {"counts", "counts"},
                         {"stray", "stray"},
                         {"unwritten", "unwritten"},
                         {"overwritten", "overwritten"},
                         {"failed", "failed"},
                         {"wrong result", "wrong"},
                         {"mismatch not noticed", "mismatch"}};

/// The mutants of a kernel, or of all, counted.
struct Row {
  std::string kernel;
  std::size_t mutants = 0, found = 0;
  std::map<std::string, std::size_t> ways;
  std::vector<int> seeds;  // of those that were found

  void add(const Caught& mutant) {
    ++mutants;
    if (!mutant.fate.found) return;
    ++found;
    seeds.push_back(mutant.fate.seeds);
    ++ways[mutant.fate.found.how];
  }
};

/// With the columns that `all` has something in.
std::string text_of(Row row, const Row& all) {
  std::string line = fmt::format("{:<30}{:>8}{:>7}{:>10}", row.kernel, row.mutants, row.found, row.mutants - row.found);
  for (const auto& [how, head] : kWays)
    if (all.ways.count(how))
      line += fmt::format("{:>{}}", row.ways.count(how) ? std::to_string(row.ways[how]) : "-", std::strlen(head) + 2);
  std::sort(row.seeds.begin(), row.seeds.end());
  if (row.seeds.empty()) return line + "\n";
  return line + fmt::format("{:>8}{:>6}\n", row.seeds[row.seeds.size() / 2], row.seeds.back());
}

std::string heads(const Row& all) {
  std::string first = fmt::format("{:<55}", ""),
              second = fmt::format("{:<30}{:>8}{:>7}{:>10}", "kernel", "mutants", "found", "harmless");
  for (const auto& [how, head] : kWays)
    if (all.ways.count(how)) second += fmt::format("  {}", head);
  first += fmt::format("  {:<{}}", "found first by", second.size() - first.size());
  return fmt::format("{}seeds\n{}  median  most\n", first, second);
}

/// Why mutants do no harm, how many of which kernels.
struct Reason {
  std::string why;
  std::size_t mutants = 0;
  std::vector<std::string> kernels;

  void add(const Caught& mutant) {
    ++mutants;
    if (std::find(kernels.begin(), kernels.end(), mutant.kernel) == kernels.end()) kernels.push_back(mutant.kernel);
  }
  std::string text() const {
    const std::string whose =
        kernels.size() <= 2 ? fmt::format("{}", fmt::join(kernels, ", ")) : fmt::format("{} kernels", kernels.size());
    return fmt::format("{:>6}  {}: {}\n", mutants, whose, why);
  }
};

}  // namespace

Bag run(const Hunt& hunt) {
  const tests::Harmless harmless(hunt.harmless);
  const Mutants mutants(hunt.kernels.empty() ? every_kernel() : hunt.kernels, hunt.sources, hunt.threads);
  Bag bag;
  bag.words = mutants.sites();
  std::vector<const Mutant*> chosen;
  for (std::size_t m = 0; m < mutants.all().size(); m += hunt.every) chosen.push_back(&mutants.all()[m]);
  bag.mutants.resize(chosen.size());
  std::mutex mutex;
  std::size_t done = 0;
  tests::on_all_cores(
      chosen.size(),
      [&](std::size_t m) {
        const std::string& name = chosen[m]->name;
        const std::string* const reason = harmless.why(name);
        const int seeds = reason ? std::min(hunt.seeds, hunt.seeds_of_listed) : hunt.seeds;
        bag.mutants[m] = {chosen[m]->sites.front().kernel, name, fate_of(*chosen[m], seeds), reason ? *reason : ""};
        const std::scoped_lock lock(mutex);
        ++done;
        if (hunt.progress) hunt.progress(done, chosen.size());
      },
      hunt.threads);

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
  std::vector<Reason> reasons;
  for (const Caught& mutant : bag.mutants) {
    auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.kernel == mutant.kernel; });
    if (row == rows.end()) {
      row = rows.emplace(rows.end());
      row->kernel = mutant.kernel;
    }
    row->add(mutant);
    all.add(mutant);
    if (mutant.fate.found) continue;
    const std::string why = mutant.reason.empty() ? "NOT LISTED" : mutant.reason;
    auto reason = std::find_if(reasons.begin(), reasons.end(), [&](const Reason& r) { return r.why == why; });
    if (reason == reasons.end()) {
      reason = reasons.emplace(reasons.end());
      reason->why = why;
    }
    reason->add(mutant);
  }
  std::string text = heads(all);
  for (const Row& row : rows) text += text_of(row, all);
  if (rows.size() > 1) text += text_of(all, all);
  if (!reasons.empty()) text += "\nWhy the others do no harm:\n";
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const Reason& a, const Reason& b) { return a.mutants > b.mutants; });
  for (const Reason& reason : reasons) text += reason.text();
  return text;
}

}  // namespace tutti::mutants
