#include "bench/rows.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "bench/statistics.hpp"

namespace tutti::bench {

const char* name_of(Placement placement) {
  switch (placement) {
    case Placement::near: return "near";
    case Placement::far: return "far";
    case Placement::mixed: return "mixed";
    default: return "unknown";
  }
}

Rows::Rows(const Case& c, const std::vector<Lane>& lanes, int rounds_asked)
    : case_(c), lanes_(lanes), series_{{rounds_asked, {}}}, from_(lanes.size(), 0) {}

void Rows::add(const Round& round) { series_.front().rounds.push_back(round); }

std::vector<Placement> Rows::Series::reported() const {
  std::vector<Placement> enough;
  for (Placement placement : {Placement::near, Placement::far, Placement::unknown})
    if (static_cast<int>(of(placement).size()) >= asked) enough.push_back(placement);
  if (enough.empty() && !rounds.empty()) enough.push_back(Placement::mixed);
  return enough;
}

// Mixed means all of them: it is asked for only where no placement has enough.
std::vector<const Round*> Rows::Series::of(Placement placement) const {
  std::vector<const Round*> found;
  for (const Round& round : rounds)
    if (placement == Placement::mixed || round.placement == placement) found.push_back(&round);
  return found;
}

std::map<std::string, Ratio> Rows::ratios(std::size_t lane, const std::vector<const Round*>& rounds) const {
  std::map<std::string, Ratio> result;
  if (lanes_[lane].contender->backend() != "native") return result;
  for (std::size_t peer = 0; peer < lanes_.size(); ++peer) {
    const std::string name = lanes_[peer].contender->backend();
    if (name == "native" || !lanes_[lane].races(lanes_[peer]) || result.count(name)) continue;
    std::vector<double> per_round;
    for (const Round* round : rounds)
      if (round->seconds[peer] > 0 && round->seconds[lane] > 0)
        per_round.push_back(round->seconds[peer] / round->seconds[lane]);
    if (per_round.empty()) continue;
    const auto [low, high] = median_interval(per_round);
    result[name] = {median(per_round), low, high};
  }
  return result;
}

std::string Rows::best_peer(std::size_t lane, const std::vector<const Round*>& rounds) const {
  std::string best;
  double least = 0;
  for (const Lane& peer : lanes_) {
    const auto at = static_cast<std::size_t>(&peer - lanes_.data());
    if (lanes_[lane].contender->backend() != "native" || peer.contender->backend() == "native") continue;
    if (!lanes_[lane].races(peer)) continue;
    std::vector<double> seconds;
    for (const Round* round : rounds)
      if (round->seconds[at] > 0) seconds.push_back(round->seconds[at]);
    if (seconds.empty()) continue;
    const double its = median(seconds);
    if (!best.empty() && its >= least) continue;
    best = peer.contender->backend();
    least = its;
  }
  return best;
}

std::vector<std::size_t> Rows::close_races() const {
  std::vector<std::size_t> close;
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    const Series& series = series_[from_[lane]];
    bool spans = false;
    for (Placement placement : series.reported())
      for (const auto& [peer, ratio] : ratios(lane, series.of(placement)))
        if (peer == best_peer(lane, series.of(placement))) spans = spans || (ratio.low < 1 && ratio.high > 1);
    if (spans) close.push_back(lane);
  }
  return close;
}

void Rows::replace(const std::vector<std::size_t>& these, const Rows& longer) {
  series_.push_back(longer.series_.front());
  for (std::size_t lane : these) from_[lane] = series_.size() - 1;
}

std::vector<Row> Rows::build(std::vector<std::string>* notes) const {
  std::vector<Row> rows;
  for (Placement placement : {Placement::near, Placement::far, Placement::mixed, Placement::unknown})
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      const Series& series = series_[from_[lane]];
      const std::vector<Placement> reported = series.reported();
      if (std::find(reported.begin(), reported.end(), placement) == reported.end()) continue;
      const std::vector<const Round*> rounds = series.of(placement);
      std::vector<double> seconds, ns, bounds;
      for (const Round* round : rounds) {
        if (round->seconds[lane] <= 0) continue;
        seconds.push_back(round->seconds[lane] * case_.time_scale());
        ns.push_back(round->ns);
        if (const auto bound = round->bound.find(lanes_[lane].memory); bound != round->bound.end())
          bounds.push_back(bound->second);
      }
      if (seconds.empty()) continue;
      Row row;
      row.c = case_;
      row.backend = lanes_[lane].contender->backend();
      row.asked_algorithm = lanes_[lane].contender->asked_algorithm();
      row.algorithm = lanes_[lane].contender->algorithm(case_);
      row.cost = lanes_[lane].contender->cost(case_);
      row.memory = lanes_[lane].memory;
      row.seconds = median(seconds);
      row.seconds_min = *std::min_element(seconds.begin(), seconds.end());
      row.seconds_max = *std::max_element(seconds.begin(), seconds.end());
      if (!bounds.empty()) row.bound = median(bounds);
      row.ratio = ratios(lane, rounds);
      row.best_peer = best_peer(lane, rounds);
      row.placement = placement;
      row.placement_ns = median(ns);
      row.rounds = static_cast<int>(seconds.size());
      rows.push_back(std::move(row));
    }
  if (notes)
    for (const Series& series : series_) {
      const std::vector<Placement> reported = series.reported();
      if (std::find(reported.begin(), reported.end(), Placement::mixed) != reported.end()) continue;
      for (Placement placement : {Placement::near, Placement::far}) {
        const std::size_t few = series.of(placement).size();
        if (few > 0 && std::find(reported.begin(), reported.end(), placement) == reported.end())
          notes->push_back(fmt::format("{} bytes: {} rounds with {} cores are too few for rows of their own",
                                       case_.bytes, few, name_of(placement)));
      }
    }
  return rows;
}

}  // namespace tutti::bench
