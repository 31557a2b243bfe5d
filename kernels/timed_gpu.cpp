#include "kernels/timed_gpu.hpp"

namespace tutti::timed {
namespace {

constexpr double kWord = 8;  // bytes of one packet: four of them payload

double taken(double bytes, double rate) { return rate > 0 ? bytes / rate : 0; }

}  // namespace

Moved GpuCosts::move(const Mover& mover, double now, std::span<const Part> from, std::span<const Part> to) {
  double loaded = 0, stored = 0, own = 0;
  bool far = false;
  // A block loads or stores what goes through the switch once for all its places.
  for (const Part& part : from) {
    loaded = part.by_switch ? part.bytes : loaded + part.bytes;
    far |= part.by_switch || part.owner != mover.rank;
  }
  for (const Part& part : to) stored = part.by_switch ? part.bytes : stored + part.bytes;
  const double start = now + machine_.word + (far ? machine_.load : 0);
  Moved moved{.end = start + taken(std::max(loaded, stored), machine_.block)};
  if (!from.empty() && from[0].by_switch)
    moved.end = std::max(moved.end, wires_.out_of_switch(mover.rank, start, from[0].bytes));
  for (const Part& part : from) {
    if (part.owner == mover.rank && !part.by_switch) {
      own += part.bytes;
      continue;
    }
    moved.end = std::max({moved.end, wires_.touch(part.owner, start, part.bytes),
                          part.by_switch ? wires_.into_switch(part.owner, start, part.bytes)
                                         : wires_.cross(part.owner, mover.rank, start, part.bytes)});
  }
  double last = 0;
  if (!to.empty() && to[0].by_switch) last = wires_.into_switch(mover.rank, start, to[0].bytes);
  for (const Part& part : to) {
    if (part.owner == mover.rank && !part.by_switch) {
      own += part.bytes;
      continue;
    }
    last = std::max({last,
                     part.by_switch ? wires_.out_of_switch(part.owner, start, part.bytes)
                                    : wires_.cross(mover.rank, part.owner, start, part.bytes),
                     wires_.touch(part.owner, start, part.bytes)});
  }
  if (own > 0) moved.end = std::max(moved.end, wires_.touch(mover.rank, start, own));
  if (last > 0) moved.arrived = std::max(moved.end, last);
  return moved;
}

double GpuCosts::signal(const Mover&, double now, double posted) {
  const double issued = now + machine_.signal;
  return posted > 0 ? std::max(issued, posted + machine_.fence) : issued;
}

Moved GpuCosts::put_packets(const Mover& mover, double now, double bytes, int to, std::span<const Part>,
                            std::span<const Part>, std::span<double> seen) {
  const int ranks = static_cast<int>(seen.size());
  const double start = now + machine_.word;
  const double payload = to == kAll ? bytes * (ranks - 1) : to >= 0 ? bytes : 0;
  // Each thread puts its part into the packets of one peer after the other, so all are done at the end.
  Moved moved{.end = start + taken(payload, machine_.packet_block)};
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer == mover.rank) continue;
    const double its = to == kAll || to == peer ? std::max(bytes * machine_.packet_wire, kWord) : kWord;
    const double there =
        std::max({moved.end, wires_.cross(mover.rank, peer, start, its), wires_.touch(peer, start, its)});
    seen[static_cast<std::size_t>(peer)] = there + machine_.flag;
    moved.arrived = std::max(moved.arrived, there + machine_.flag);
  }
  return moved;
}

double GpuCosts::get_packets(const Mover& mover, double now, double bytes, int from, std::span<const Part>,
                             std::span<const Part>, std::span<const double> seen, bool adds) {
  const int ranks = static_cast<int>(seen.size());
  const double payload = from == kAll ? bytes * (ranks - 1) : from >= 0 ? bytes : 0;
  double end = now + machine_.word + taken(payload + (adds ? bytes : 0), machine_.packet_block);
  for (int peer = 0; peer < ranks; ++peer)
    if (peer != mover.rank) end = std::max(end, seen[static_cast<std::size_t>(peer)]);
  return end + machine_.wait;
}

}  // namespace tutti::timed
