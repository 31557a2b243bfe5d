#include "bench/race.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <map>

namespace tutti::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Below this, preparing and reading belong to the measured time: a clock and a barrier around each call would cost more
// than the call.
constexpr std::size_t kMeasuredTogether = 4096;

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

void Race::prepare(const Case& c, const Buffers& b, const Pattern& pattern, std::size_t index) const {
  const int rank = session_.rank();
  if (c.operation == Operation::barrier || (c.operation == Operation::broadcast && rank != c.root)) return;
  pattern.fill_constant(b.in, c.in_count(), rank, index);
}

std::uint64_t Race::check(const Case& c, const Buffers& b, const Pattern& pattern, std::size_t index) const {
  const int peer = session_.rank() ^ 1;
  switch (c.operation) {
    case Operation::all_reduce:
    case Operation::reduce_scatter: return pattern.wrong_constant_results(b.out, c.count, index);
    case Operation::all_gather: {
      std::uint64_t wrong = 0;
      const std::size_t bytes = c.count * size_of(c.type);
      for (int r = 0; r < c.ranks; ++r)
        wrong += pattern.wrong_constants(b.out + static_cast<std::size_t>(r) * bytes, c.count, r, index);
      return wrong;
    }
    case Operation::broadcast: return pattern.wrong_constants(b.out, c.count, c.root, index);
    case Operation::send_recv: return peer < c.ranks ? pattern.wrong_constants(b.out, c.count, peer, index) : 0;
    case Operation::barrier: return 0;
  }
  return 0;
}

// One call whose every element has its own value.
std::uint64_t Race::verify(const Case& c, const Lane& lane, const Pattern& pattern) {
  if (c.operation == Operation::barrier) return 0;
  const int rank = session_.rank();
  const auto& b = lane.buffers;
  const std::size_t size = size_of(c.type);
  const bool one_buffer = c.in_place || c.operation == Operation::broadcast;
  if (!one_buffer || (c.operation == Operation::broadcast && rank != c.root))
    std::memset(b.out, 0xa5, c.out_count() * size);
  if (c.operation != Operation::broadcast || rank == c.root) pattern.fill_input(b.in, c.in_count(), rank, 0);
  meeting_.barrier();
  lane.contender->run(c, b);
  std::uint64_t wrong = one_buffer ? 0 : pattern.wrong_inputs(b.in, c.in_count(), rank, 0);
  const int peer = rank ^ 1;
  switch (c.operation) {
    case Operation::all_reduce: return wrong + pattern.wrong_results(b.out, c.count, 0);
    case Operation::reduce_scatter:
      return wrong + pattern.wrong_results(b.out, c.count, static_cast<std::size_t>(rank) * c.count);
    case Operation::all_gather:
      for (int r = 0; r < c.ranks; ++r)
        wrong += pattern.wrong_inputs(b.out + static_cast<std::size_t>(r) * c.count * size, c.count, r, 0);
      return wrong;
    case Operation::broadcast: return pattern.wrong_inputs(b.out, c.count, c.root, 0);
    case Operation::send_recv: return peer < c.ranks ? wrong + pattern.wrong_inputs(b.out, c.count, peer, 0) : 0;
    case Operation::barrier: return 0;
  }
  return wrong;
}

// Why the lane cannot run the case; empty if it can.
std::string Race::refusal(const Case& c, const Lane& lane) {
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

Race::Sample Race::batch(const Case& c, const Lane& lane, const Pattern& pattern, long calls) {
  const auto next = [&] {
    if (++turn_ == Pattern::kPeriod) turn_ = 0;
    return turn_;
  };
  Contender& contender = *lane.contender;
  const Buffers buffers = lane.buffers;
  std::uint64_t wrong = 0;
  double seconds = 0;
  meeting_.barrier();
  if (options_.steady) {
    const auto begin = Clock::now();
    for (long i = 0; i < calls; ++i) contender.run(c, buffers);
    seconds = seconds_since(begin);
  } else if (c.bytes <= kMeasuredTogether) {
    const auto begin = Clock::now();
    for (long i = 0; i < calls; ++i) {
      const std::size_t index = next();
      prepare(c, buffers, pattern, index);
      contender.run(c, buffers);
      wrong += check(c, buffers, pattern, index);
    }
    seconds = seconds_since(begin);
  } else {
    for (long i = 0; i < calls; ++i) {
      const std::size_t index = next();
      prepare(c, buffers, pattern, index);
      meeting_.barrier();
      const auto begin = Clock::now();
      contender.run(c, buffers);
      seconds += seconds_since(begin);
      wrong += check(c, buffers, pattern, index);
    }
  }
  return worst({seconds / static_cast<double>(calls), options_.check ? wrong : 0});
}

// Rounds until one placement of the cores has `rounds` of them, and another that turns up often too, within bounds; no
// more, once there are as many as asked for, when `limit_seconds` are over.
Race::Heat Race::heat(const Case& c, const std::vector<Lane>& all, const std::vector<std::size_t>& entrants,
                      const Pattern& pattern, int rounds, double limit_seconds) {
  Heat heat;
  const std::size_t n = entrants.size();
  std::map<Placement, int> seen;
  double ns = meeting_.exchange_ns();
  const auto begin = Clock::now();
  for (int number = 0; number < 4 * rounds; ++number) {
    Round round{placement_of(ns), ns, std::vector<double>(all.size())};
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t lane = entrants[(i + static_cast<std::size_t>(number)) % n];
      const Sample sample = batch(c, all[lane], pattern, calls_[lane]);
      round.seconds[lane] = sample.seconds;
      wrong_[lane] += sample.wrong;
      ns = meeting_.exchange_ns();
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
  const Pattern pattern(c.type, c.reduces() ? c.op : ReduceOp::max, c.ranks);
  wrong_.assign(lanes.size(), 0);
  calls_.assign(lanes.size(), 1);
  std::vector<std::size_t> entrants;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const Lane& lane = lanes[i];
    if (const std::string why = refusal(c, lane); !why.empty()) {
      result.notes.push_back(
          fmt::format("left out: {} {}: {}", lane.contender->backend(), lane.contender->asked_algorithm(), why));
      continue;
    }
    entrants.push_back(i);
    if (options_.check) wrong_[i] += worst({0, verify(c, lane, pattern)}).wrong;
    if (options_.warm_up > 0) batch(c, lane, pattern, options_.warm_up);
    // How many calls fill a batch: a first guess from two calls, a better one from what those suggest.
    const auto fitting = [&](double seconds, double per_call, long most) {
      return std::clamp<long>(static_cast<long>(seconds / std::max(per_call, 1e-9)), 1, most);
    };
    if (options_.calls > 0) {
      calls_[i] = options_.calls;
    } else {
      const double guess = batch(c, lane, pattern, 2).seconds;
      const double per_call = batch(c, lane, pattern, fitting(options_.batch_seconds / 4, guess, 200)).seconds;
      calls_[i] = fitting(options_.batch_seconds, per_call, 50000);
    }
  }
  if (entrants.empty()) return result;

  const Heat first = heat(c, lanes, entrants, pattern, options_.rounds, std::numeric_limits<double>::infinity());
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
          std::any_of(close.begin(), close.end(), [&](std::size_t k) { return lanes[k].memory == lanes[i].memory; });
      if (is_close || is_peer) again.push_back(i);
    }
    const int wanted = 5 * options_.rounds;
    const Heat second = heat(c, lanes, again, pattern, wanted, options_.second_run_seconds);
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
