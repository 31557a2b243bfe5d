#include "bench/predict/links.hpp"

#include <algorithm>
#include <vector>

namespace tutti::predict {
namespace {

using bench::Operation;
using timed::Machine;
using timed::Wiring;

/// Bytes that all ranks together must send at least: every rank's contribution is needed elsewhere, every result too.
double least_bytes_of_all(const bench::Case& c) {
  const double n = c.ranks, bytes = static_cast<double>(c.bytes);
  switch (c.operation) {
    case Operation::all_reduce: return 2 * (n - 1) * bytes;
    case Operation::reduce_scatter:
    case Operation::all_gather:
    case Operation::all_to_all:
    case Operation::broadcast:
    case Operation::reduce: return (n - 1) * bytes;
    case Operation::gather:
    case Operation::scatter: return (n - 1) / n * bytes;
    case Operation::send_recv: return static_cast<double>(c.ranks / 2) * bytes;
    case Operation::barrier: return 0;
  }
  return 0;
}

}  // namespace

double busiest_link(const Machine& machine, const timed::World& world) {
  const int n = machine.ranks;
  std::vector<double> out(static_cast<std::size_t>(n)), in(static_cast<std::size_t>(n));
  double pair = 0, all = 0;
  for (int rank = 0; rank < n; ++rank) {
    out[static_cast<std::size_t>(rank)] = world.sent_to_switch(rank);
    in[static_cast<std::size_t>(rank)] = world.received_from_switch(rank);
  }
  for (int from = 0; from < n; ++from)
    for (int to = 0; to < n; ++to) {
      if (from == to) continue;
      const double bytes = world.wire_bytes(from, to);
      out[static_cast<std::size_t>(from)] += bytes;
      in[static_cast<std::size_t>(to)] += bytes;
      pair = std::max(pair, bytes);
      all += bytes;
    }
  if (machine.wiring == Wiring::shared) return all;
  if (machine.wiring == Wiring::direct) return pair;
  return std::max(*std::max_element(out.begin(), out.end()), *std::max_element(in.begin(), in.end()));
}

double least_seconds(const Machine& machine, const bench::Case& c) {
  if (!machine.is_gpu) return 0;  // cores reach each other through caches, which have no such rate
  // What busbw divides out: the bytes of the busiest rank by the best algorithm.
  const double of_a_rank = static_cast<double>(c.bytes) * bench::bus_factor(c.operation, c.ranks);
  const double pairs = machine.pair * (c.is(Operation::send_recv) ? 1 : c.ranks - 1);
  double nanoseconds = machine.pair > 0 ? of_a_rank / pairs : 0;
  if (machine.link > 0)
    nanoseconds =
        std::max(nanoseconds, (machine.wiring == Wiring::shared ? least_bytes_of_all(c) : of_a_rank) / machine.link);
  return nanoseconds * 1e-9;
}

}  // namespace tutti::predict
