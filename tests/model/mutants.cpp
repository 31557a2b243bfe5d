#include "tests/model/mutants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

#include "tests/on_all_cores.hpp"

namespace tutti::mutants {
namespace {

const char* text_of(Change change) {
  switch (change) {
    case Change::left_out: return "leaves out";
    case Change::left_out_in_one_call: return "leaves out in one call";
    case Change::waits_short: return "waits for one too few at";
    case Change::signals_more: return "signals one too many at";
    case Change::early: return "tells too early at";
    case Change::silent: return "tells nobody at";
    case Change::deaf: return "waits for nobody at";
    case Change::first_lane: return "takes the first lane at";
    case Change::second_lane: return "takes the second lane at";
  }
  return "";
}

std::vector<Change> changes_of(Word word, const Ways& ways) {
  switch (word) {
    case Word::lane_to:
    case Word::lane_from:
      if (ways.other_lane) return {Change::first_lane};
      return ways.first_lane ? std::vector{Change::second_lane} : std::vector<Change>{};
    case Word::put_packets: return {Change::left_out, Change::early};
    case Word::enter:
    case Word::leave:
      return {Change::left_out, Change::left_out_in_one_call, Change::early, Change::silent, Change::deaf};
    case Word::copy:
    case Word::reduce:
    case Word::get_packets:
    case Word::reduce_packets: return {Change::left_out};
    case Word::wait: return {Change::left_out, Change::left_out_in_one_call, Change::waits_short};
    case Word::signal: return {Change::left_out, Change::left_out_in_one_call, Change::signals_more, Change::early};
    default: return {Change::left_out, Change::left_out_in_one_call};
  }
}

Verdict verdict_of(Change change, const WordAt& at, std::size_t one_call) {
  switch (change) {
    case Change::left_out: return {.nothing = true};
    case Change::left_out_in_one_call: return {.nothing = at.call == one_call};
    case Change::waits_short: return {.less = 1};
    case Change::signals_more: return {.less = -1};
    case Change::early: return {.early = true};
    case Change::silent: return {.silent = true};
    case Change::deaf: return {.deaf = true};
    case Change::first_lane: return {.lane = 0};
    case Change::second_lane: return {.lane = at.lane.of > 1 ? 1 : -1};
  }
  return {};
}

Ways of_all(const std::map<int, Ways>& ranks) {
  Ways all;
  for (const auto& [rank, ways] : ranks) all.add(ways);
  return all;
}

/// Words that compare calls: only they are to notice a stranger.
bool compares(Word word) {
  return word == Word::enter || word == Word::offer || word == Word::accept || word == Word::put_packets ||
         word == Word::get_packets || word == Word::reduce_packets;
}

/// Of the calls of a set, that in the middle.
std::size_t middle_of(std::uint64_t calls) {
  for (int before = std::popcount(calls) / 2; before > 0; --before) calls &= calls - 1;
  return static_cast<std::size_t>(std::countr_zero(calls));
}

}  // namespace

Mutants::Mutants(const std::vector<Kernel>& kernels, const std::string& folder, unsigned threads) : calls_(folder) {
  settings_.resize(kernels.size());
  std::vector<std::vector<mutants::Seen>> seen(kernels.size());
  tests::on_all_cores(
      kernels.size(),
      [&](std::size_t k) {
        if (kernels[k] == Kernel::recv) return;  // the other end of a send
        settings_[k] = settings_of(kernels[k]);
        for (const Setting& setting : settings_[k]) seen[k].push_back(seen_in(setting));
      },
      threads);
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const std::string_view mine = name_of(kernels[k]);
    std::map<Site, std::vector<Seen>> sites;
    for (std::size_t s = 0; s < settings_[k].size(); ++s)
      for (const auto& [site, ranks] : seen[k][s])
        if (site.kernel == mine || (mine == "send" && site.kernel == "recv"))
          sites[site].push_back({&settings_[k][s], ranks});
    std::map<std::string, int> namesakes;
    std::map<std::string, std::pair<std::vector<Site>, std::vector<Seen>>> alike;
    for (const auto& [site, its] : sites) {
      const WordCall* const call = calls_.find(site.file, site.line, model::name_of(site.word));
      if (!call) continue;  // of run_once, not of a kernel
      std::string text = call->text;
      if (const int number = ++namesakes[site.kernel + text]; number > 1) text += fmt::format(" ({})", number);
      Ways ways;
      for (const Seen& in : its) ways.add(of_all(in.ranks));
      add({site}, changes_of(site.word, ways), text, its);
      ++sites_;
      if (site.word != Word::wait && site.word != Word::signal) continue;
      auto& [group, in_group] = alike[fmt::format("{} of {}", model::name_of(site.word), model::name_of(ways.purpose))];
      group.push_back(site);
      in_group.insert(in_group.end(), its.begin(), its.end());
    }
    // Words that vouch for each other.
    for (const auto& [text, group] : alike)
      if (group.first.size() > 1) add(group.first, {Change::left_out}, "every " + text, group.second);
  }
}

void Mutants::add(const std::vector<Site>& sites, const std::vector<Change>& changes, const std::string& text,
                  const std::vector<Seen>& seen) {
  for (const Change change : changes) {
    for (int rank = kEveryRank; rank < kRanksInTurn; ++rank) {
      Mutant mutant;
      mutant.sites = sites;
      mutant.change = change;
      mutant.rank = rank;
      for (const Seen& in : seen) {
        if (in.setting->stranger >= 0 && !compares(sites.front().word)) continue;
        const auto found = in.ranks.find(rank);
        if (rank != kEveryRank && found == in.ranks.end()) continue;
        const Ways ways = rank == kEveryRank ? of_all(in.ranks) : found->second;
        mutant.runs.push_back({in.setting, middle_of(ways.calls)});
      }
      if (mutant.runs.empty()) continue;
      mutant.name =
          fmt::format("{}: {} {} {}", sites.front().kernel,
                      rank == kEveryRank ? "every rank" : fmt::format("rank {}", rank), text_of(change), text);
      mutants_.push_back(std::move(mutant));
    }
  }
}

std::vector<std::string> Mutants::untouched() const {
  std::set<std::tuple<std::string, int, std::string>> touched;
  for (const Mutant& m : mutants_)
    for (const Site& site : m.sites) touched.insert({site.file, site.line, model::name_of(site.word)});
  std::vector<std::string> all;
  for (const WordCall& call : calls_.all())
    if (!call.word.starts_with("lane") && !touched.count({call.file, call.line, call.word}))
      all.push_back(fmt::format("kernels/{}:{} {}", call.file, call.line, call.text));
  return all;
}

Fate fate_of(const Mutant& mutant, int seeds) {
  const auto concerns = [&](const WordAt& at) {
    return (mutant.rank == kEveryRank || at.rank == mutant.rank) &&
           std::any_of(mutant.sites.begin(), mutant.sites.end(), [&](const Site& site) {
             return at.line == site.line && at.word == site.word && at.kernel == site.kernel && at.file == site.file;
           });
  };
  Fate fate;
  while (fate.seeds < seeds && !fate.found) {
    // Settings in turn; seeds say how to schedule by their remainder, which is to differ in each round.
    const auto round = static_cast<std::size_t>(fate.seeds) / mutant.runs.size();
    const Mutant::Run& run = mutant.runs[static_cast<std::size_t>(fate.seeds) % mutant.runs.size()];
    fate.found = run_once(*run.setting, static_cast<std::size_t>(fate.seeds++) + round, [&](const WordAt& at) {
      return concerns(at) ? verdict_of(mutant.change, at, run.call) : Verdict{};
    });
  }
  return fate;
}

}  // namespace tutti::mutants
