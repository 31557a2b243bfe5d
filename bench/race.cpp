#include "bench/race.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>

namespace tutti::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

Placement placement_of(double ns) {
  if (ns <= 0) return Placement::unknown;
  if (ns > 1000) return Placement::mixed;              // somebody else ran on one of the cores all the time
  return ns < 140 ? Placement::near : Placement::far;  // measured: 50-67 against 225-255 ns
}

int most_of_a_placement(const std::vector<Round>& rounds) {
  std::map<Placement, int> seen;
  int most = 0;
  for (const Round& round : rounds)
    if (round.placement != Placement::mixed) most = std::max(most, ++seen[round.placement]);
  return most;
}

}  // namespace

// Why the lane cannot run the case; empty if it can.
std::string Race::refusal(const Case& c, const Lane& lane, std::uint64_t* wrong) {
  if (Elsewhere* const elsewhere = lane.contender->elsewhere()) return elsewhere->refusal(c, wrong);
  try {
    lane.contender->run(c, lane.buffers);
    return "";
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument && error.code() != ErrorCode::unsupported) throw;
    return error.what();
  }
}

Race::Sample Race::worst(Sample mine) {
  Sample all{0, 0};
  for (const Sample& sample : session_.bootstrap_all_gather(mine)) {
    all.seconds = std::max(all.seconds, sample.seconds);
    all.wrong += sample.wrong;
  }
  return all;
}

double Race::distance() { return access_.direct() ? meeting_.exchange_ns() : 0; }

std::map<MemoryKind, double> Race::bounds(const Case& c, const std::vector<Lane>& all, double ns) {
  std::map<MemoryKind, double> found;
  if (!limits_) return found;
  for (const Lane& lane : all)
    if (!lane.contender->elsewhere() && found.count(lane.memory) == 0)
      found[lane.memory] = limits_->bound(c, lane.memory, ns);
  return found;
}

// One call whose every element has its own value.
std::uint64_t Race::verify(const Trial& trial, const Lane& lane) {
  if (lane.contender->elsewhere()) return 0;  // done with the refusal
  trial.prepare_distinct(lane.buffers);
  meeting_.barrier();
  lane.contender->run(trial.shape(), lane.buffers);
  return trial.check_distinct(lane.buffers);
}

Race::Sample Race::batch(const Trial& trial, const Lane& lane, long calls) {
  const Case& c = trial.shape();
  const auto next = [&] {
    if (++turn_ == Pattern::kPeriod) turn_ = 0;
    return turn_;
  };
  Contender& contender = *lane.contender;
  const Buffers buffers = lane.buffers;
  // Small ones, since a clock and a barrier around each call would cost more than the call. Not on a GPU, whose calls
  // take longer than a clock, and preparing them longer than they; not if there is a root: it, or who only sends to it,
  // would run ahead of the others, and a call would seem to take less than its way.
  const bool together = measured_together(c) && access_.direct();
  if (Elsewhere* const elsewhere = contender.elsewhere()) {
    meeting_.barrier();
    const Batch batch{.calls = calls, .turn = turn_, .together = together, .steady = options_.steady};
    turn_ = (turn_ + static_cast<std::size_t>(calls)) % Pattern::kPeriod;
    const Elsewhere::Result result = elsewhere->run(c, batch);
    return {result.seconds, options_.check ? result.wrong : 0};
  }
  std::uint64_t wrong = 0;
  double seconds = 0;
  meeting_.barrier();
  if (options_.steady) {
    const auto begin = Clock::now();
    for (long i = 0; i < calls; ++i) contender.run(c, buffers);
    seconds = seconds_since(begin);
  } else if (together) {
    const auto begin = Clock::now();
    for (long i = 0; i < calls; ++i) {
      const std::size_t index = next();
      trial.prepare(buffers, index);
      contender.run(c, buffers);
      wrong += trial.check(buffers, index);
    }
    seconds = seconds_since(begin);
  } else {
    for (long i = 0; i < calls; ++i) {
      const std::size_t index = next();
      trial.prepare(buffers, index);
      meeting_.barrier();
      const auto begin = Clock::now();
      contender.run(c, buffers);
      seconds += seconds_since(begin);
      wrong += trial.check(buffers, index);
    }
  }
  const double made = static_cast<double>(calls) * contender.calls_in_a_run();
  return worst({seconds / made, options_.check ? wrong : 0});
}

// Rounds until one placement of the cores has `rounds` of them, and another that turns up often too, within bounds; no
// more, once there are as many as asked for, when `limit_seconds` are over.
Race::Heat Race::heat(const Trial& trial, const std::vector<Lane>& all, const std::vector<std::size_t>& entrants,
                      int rounds, double limit_seconds) {
  Heat heat;
  const std::size_t n = entrants.size();
  std::map<Placement, int> seen;
  double ns = distance();
  const auto begin = Clock::now();
  for (int number = 0; number < 4 * rounds; ++number) {
    Round round{placement_of(ns), ns, std::vector<double>(all.size()), bounds(trial.shape(), all, ns)};
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t lane = entrants[(i + static_cast<std::size_t>(number)) % n];
      const Sample sample = batch(trial, all[lane], calls_[lane]);
      round.seconds[lane] = sample.seconds;
      wrong_[lane] += sample.wrong;
      ns = distance();
      if (placement_of(ns) != round.placement) round.placement = Placement::mixed;
    }
    ++seen[round.placement];
    heat.rounds.push_back(std::move(round));
    const int near = seen[Placement::near], far = seen[Placement::far];
    const int more = std::max({near, far, seen[Placement::unknown]}), less = std::min(near, far);
    if (more >= rounds && (less >= rounds || less < 3 || number + 1 >= 2 * rounds)) break;
    // Rank 0's clock, so that all stop together.
    heat.out_of_time =
        number + 1 >= options_.rounds && session_.bootstrap_all_gather(seconds_since(begin))[0] > limit_seconds;
    if (heat.out_of_time) break;
  }
  return heat;
}

RaceResult Race::run(const Case& c, const std::vector<Lane>& lanes) {
  RaceResult result;
  const Trial trial(c, session_.rank(), access_);
  wrong_.assign(lanes.size(), 0);
  calls_.assign(lanes.size(), 1);
  std::vector<std::size_t> entrants;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const Lane& lane = lanes[i];
    std::uint64_t wrong = 0;
    if (const std::string why = refusal(c, lane, &wrong); !why.empty()) {
      Row row;
      row.c = c;
      row.backend = lane.contender->backend();
      row.asked_algorithm = row.algorithm = lane.contender->asked_algorithm();
      row.memory = lane.memory;
      result.left_out.push_back({std::move(row), why});
      continue;
    }
    entrants.push_back(i);
    if (options_.check) wrong_[i] += wrong + worst({0, verify(trial, lane)}).wrong;
    if (options_.warm_up > 0) batch(trial, lane, options_.warm_up);
    // How many calls fill a batch: a first guess from two calls, a better one from what those suggest.
    const auto fitting = [&](double seconds, double per_call, long most) {
      return std::clamp<long>(static_cast<long>(seconds / std::max(per_call, 1e-9)), 1, most);
    };
    if (options_.calls > 0) {
      calls_[i] = options_.calls;
    } else {
      const double guess = batch(trial, lane, 2).seconds;
      const double per_call = batch(trial, lane, fitting(options_.batch_seconds / 4, guess, 200)).seconds;
      calls_[i] = fitting(options_.batch_seconds, per_call, 50000);
    }
  }
  if (entrants.empty()) return result;

  const Heat first = heat(trial, lanes, entrants, options_.rounds, std::numeric_limits<double>::infinity());
  Rows rows(c, lanes, options_.rounds);
  for (const Round& round : first.rounds) rows.add(round);
  const std::vector<std::size_t> close = rows.close_races();
  if (!close.empty()) {
    // The close ones and their peers on the same memory.
    std::vector<std::size_t> again;
    for (std::size_t i : entrants) {
      const bool is_close = std::count(close.begin(), close.end(), i) > 0;
      const bool is_peer =
          lanes[i].contender->backend() != "native" &&
          std::any_of(close.begin(), close.end(), [&](std::size_t k) { return lanes[k].races(lanes[i]); });
      if (is_close || is_peer) again.push_back(i);
    }
    const int wanted = 5 * options_.rounds;
    const Heat second = heat(trial, lanes, again, wanted, options_.second_run_seconds);
    const int reached = std::clamp(most_of_a_placement(second.rounds), options_.rounds, wanted);
    if (second.out_of_time && reached < wanted)
      result.notes.push_back(fmt::format("{} bytes: a close race ran again for {} rounds, not {}: {:g} s were over",
                                         c.bytes, reached, wanted, options_.second_run_seconds));
    Rows longer(c, lanes, reached);
    for (const Round& round : second.rounds) longer.add(round);
    rows.replace(again, longer);
  }
  result.rows = rows.build(&result.notes);
  for (Row& row : result.rows) {
    row.checked = options_.check;
    for (std::size_t i : entrants)
      if (lanes[i].contender->backend() == row.backend && lanes[i].memory == row.memory &&
          lanes[i].contender->asked_algorithm() == row.asked_algorithm)
        row.wrong = wrong_[i];
  }
  return result;
}

}  // namespace tutti::bench
