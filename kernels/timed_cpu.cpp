#include "kernels/timed_cpu.hpp"

namespace tutti::timed {
namespace {

double taken(double bytes, double rate) { return rate > 0 ? bytes / rate : 0; }

/// Whether a peer has the lines in its caches, as far as the place tells.
bool far(const Part& part, int rank) { return part.slot || part.owner != rank; }

}  // namespace

Moved CpuCosts::move(const Mover& mover, double now, std::span<const Part> from, std::span<const Part> to) {
  const double start = now + machine_.word;
  double end = start, bytes = 0;
  for (const Part& part : from) {
    end += taken(part.bytes, far(part, mover.rank) ? machine_.peer_load : machine_.own_load);
    bytes += part.bytes;
  }
  for (const Part& part : to) {
    end += taken(part.bytes, far(part, mover.rank) ? machine_.peer_store : machine_.own_store);
    bytes += part.bytes;
  }
  end = std::max(end, wires_.touch(mover.rank, start, bytes));
  return {.end = end, .arrived = end};
}

double CpuCosts::signal(const Mover&, double now, double) { return now + machine_.signal; }

Moved CpuCosts::put_packets(const Mover& mover, double now, double bytes, int to, std::span<double> seen) {
  double end = now + machine_.word;
  for (int peer = 0; peer < static_cast<int>(seen.size()); ++peer) {
    if (peer == mover.rank) continue;
    if (to == kAll || to == peer) end += taken(bytes, machine_.own_load) + taken(bytes, machine_.peer_store);
    end += machine_.each_flag;
    seen[static_cast<std::size_t>(peer)] = end + machine_.flag;
  }
  return {.end = end, .arrived = end + machine_.flag};
}

double CpuCosts::get_packets(const Mover& mover, double now, double bytes, int from, std::span<const double> seen,
                             bool adds) {
  double end = now + machine_.word;
  for (int peer = 0; peer < static_cast<int>(seen.size()); ++peer) {
    if (peer == mover.rank) continue;
    end = std::max(end, seen[static_cast<std::size_t>(peer)]) + machine_.each_flag;
    if (from == kAll || from == peer)
      end += taken(bytes, machine_.peer_load) + (adds ? 0 : taken(bytes, machine_.own_store));
  }
  if (adds) end += taken(bytes, machine_.own_load) + taken(bytes, machine_.own_store);
  return end;
}

}  // namespace tutti::timed
