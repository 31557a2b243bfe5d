#include "bench/bound.hpp"

#include <algorithm>

namespace tutti::bench {

LeastWork least_work(const Case& c, int cores) {
  const auto n = static_cast<std::size_t>(c.ranks);
  const auto p = std::min(n, static_cast<std::size_t>(cores));
  const std::size_t s = c.bytes, others = s / p * (p - 1), size = size_of(c.type);
  const int all = c.ranks, kept = c.in_place ? 1 : 0;  // a part that is already where it belongs
  const auto work = [&](std::size_t crossing, int sources, int destinations, std::size_t part) -> LeastWork {
    part = part / size * size;
    return part > 0 && destinations > 0 ? LeastWork{crossing, sources, destinations, part} : LeastWork{crossing};
  };
  if (n < 2 && c.in_place) return {};
  switch (c.operation) {
    case Operation::all_reduce: return work(2 * others, all, all, s / n);
    case Operation::reduce_scatter:
    case Operation::reduce: return work(others, all, 1, s / n);
    case Operation::all_gather: return work(others, 1, all - kept, s / n);
    case Operation::all_to_all: return work(others, 1, 1, s);
    case Operation::broadcast: return work(others, 1, 1, s / n * (n - 1));
    case Operation::gather:
    case Operation::scatter: return work(others / p, 1, 1, c.in_place ? s / n / n * (n - 1) : s / n);
    case Operation::send_recv: return work(n <= p ? s / 2 : 0, 1, 1, s / 2);
    case Operation::barrier: break;
  }
  return {};
}

double bound(const Case& c, int cores, const Rates& rates) {
  const double moves = std::max(rates.crossing, rates.local);
  if (c.ranks < 2) return moves;
  const bool crowded = c.ranks > cores;
  if (crowded && c.rooted()) return moves;
  // Where each rank waits for all, those of one core must each have it once.
  const int hand_overs = crowded && !c.is(Operation::send_recv) ? (c.ranks + cores - 1) / cores - 1 : 0;
  const double meeting = std::max(rates.exchange, hand_overs * rates.hand_over);
  const double least = std::max(meeting, moves);
  return c.bytes <= kMeasuredTogether ? least : rates.exchange + least;
}

}  // namespace tutti::bench
