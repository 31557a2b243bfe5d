// Small messages in virtual time.
#include <cstring>

#include "kernels/block_timed.hpp"

namespace tutti {

using model::Word;
using timed::Arrival;
using timed::Event;
using timed::kNone;
using timed::Waiting;

namespace {

char* payload_in(char* line, std::size_t bytes) { return bytes <= kPacketLine ? line : line + kLine; }

}  // namespace

void TimedBlock::put_packets(const Call& call, const char* in, std::size_t n, std::size_t stride, int to, Source at) {
  const std::uint64_t use = uses(Region::packets);
  const std::size_t bytes = n * call.element();
  if (bytes > geometry().packet_bytes) fail("has no room for such packets", rank());
  sim_.scheduler.take_turn(me_);
  const double begin = me_.clock;
  const bool placed = sim_.costs->knows_places();
  sim_.from.assign(placed ? static_cast<std::size_t>(size()) : 0, {});
  sim_.to.assign(sim_.from.size(), {});
  if (placed && bytes > 0)
    for_each(kAll, [&](int peer) {
      const auto p = static_cast<std::size_t>(peer);
      if (to != kAll && to != peer) return;
      sim_.from[p] = part(in + p * stride, bytes);
      sim_.to[p] = part(payload_in(packets(peer, use, rank()), bytes), bytes);
    });
  const timed::Moved moved =
      sim_.costs->put_packets(mover_, begin, static_cast<double>(bytes), to, sim_.from, sim_.to, sim_.seen);
  me_.clock = moved.end;
  const std::uint32_t fingerprint = packet_fingerprint(call);
  const bool real = sim_.backing == timed::Backing::real;
  for_each(kAll, [&](int peer) {
    const bool whole = to == kAll || to == peer;
    const auto p = static_cast<std::size_t>(peer);
    if (whole) {
      sim_.traffic.payload(rank(), peer, static_cast<double>(bytes));
      sim_.traffic.more(rank(), peer, static_cast<double>(bytes) * (sim_.costs->machine().packet_wire - 1));
    }
    if (!whole || bytes == 0) sim_.traffic.more(rank(), peer, kFlagBytes);
    if (real && whole && bytes > 0) std::memcpy(payload_in(packets(peer, use, rank()), bytes), in + p * stride, bytes);
    sim_.arrivals(index(), use, peer)[static_cast<std::size_t>(rank())] = {use + 1, sim_.seen[p], me_.steps,
                                                                           fingerprint};
    std::uint32_t& waiter = sim_.packets_waiter(index(), peer);
    if (waiter == kNone) return;
    timed::Strand& strand = sim_.scheduler.strand(waiter);
    if (strand.waiting.from.peer != rank() || strand.waiting.wanted != use + 1) return;
    waiter = kNone;
    sim_.scheduler.wake(strand, sim_.seen[p]);
  });
  Event* const event = record(Word::put_packets, begin, at, bytes);
  if (!event) return;
  event->arrived = moved.arrived;
  for_each(kAll, [&](int peer) {
    if (bytes == 0 || (to != kAll && to != peer)) return;
    event->from.push_back(place(in + static_cast<std::size_t>(peer) * stride, false));
    event->to.push_back(place(packets(peer, use, rank()), true));
  });
}

/// Goes on when the packets of all have come, and sim_.seen says when; then its clock is as it was.
void TimedBlock::await_packets(const Call& call, Source at) {
  const std::uint64_t use = uses(Region::packets);
  const double begin = me_.clock;
  const std::span<Arrival> all = sim_.arrivals(index(), use, rank());
  for_each(kAll, [&](int peer) {
    const Arrival& its = all[static_cast<std::size_t>(peer)];
    while (its.use != use + 1) {
      sim_.packets_waiter(index(), rank()) = static_cast<std::uint32_t>(me_.number);
      me_.waiting = {Waiting::Kind::packets, data(peer), use + 1, use, nullptr, at};
      sim_.scheduler.park(me_);
    }
    if (its.fingerprint != packet_fingerprint(call)) fail("has sent packets of another call", peer);
    me_.steps = std::max(me_.steps, its.steps + 1);
  });
  for (std::size_t p = 0; p < all.size(); ++p) sim_.seen[p] = all[p].seen;
  me_.clock = begin;
}

void TimedBlock::get_packets(const Call& call, char* out, std::size_t n, std::size_t stride, int from, Source at) {
  const double begin = me_.clock;
  const std::uint64_t use = uses(Region::packets);
  const std::size_t bytes = n * call.element();
  await_packets(call, at);
  sim_.from.assign(sim_.costs->knows_places() ? static_cast<std::size_t>(size()) : 0, {});
  sim_.to.assign(sim_.from.size(), {});
  if (!sim_.from.empty() && bytes > 0)
    for_each(kAll, [&](int peer) {
      const auto p = static_cast<std::size_t>(peer);
      if (from != kAll && from != peer) return;
      sim_.from[p] = part(payload_in(packets(rank(), use, peer), bytes), bytes);
      sim_.to[p] = part(out + p * stride, bytes);
    });
  me_.clock =
      sim_.costs->get_packets(mover_, begin, static_cast<double>(bytes), from, sim_.from, sim_.to, sim_.seen, false);
  Event* const event = record(Word::get_packets, begin, at, bytes);
  for_each(kAll, [&](int peer) {
    if (bytes == 0 || (from != kAll && from != peer)) return;
    char* const line = packets(rank(), use, peer);
    char* const to = out + static_cast<std::size_t>(peer) * stride;
    if (sim_.backing == timed::Backing::real) std::memcpy(to, payload_in(line, bytes), bytes);
    if (!event) return;
    event->from.push_back(place(line, false));
    event->to.push_back(place(to, true));
  });
}

void TimedBlock::reduce_packets(const Call& call, char* out, const char* in, std::size_t n, Source at) {
  const double begin = me_.clock;
  const std::uint64_t use = uses(Region::packets);
  const std::size_t bytes = n * call.element();
  await_packets(call, at);
  sim_.from.assign(sim_.costs->knows_places() ? static_cast<std::size_t>(size()) : 0, {});
  sim_.to.clear();
  if (!sim_.from.empty() && bytes > 0) {
    for (int peer = 0; peer < size(); ++peer)
      sim_.from[static_cast<std::size_t>(peer)] =
          part(peer == rank() ? in : payload_in(packets(rank(), use, peer), bytes), bytes);
    sim_.to.push_back(part(out, bytes));
  }
  me_.clock =
      sim_.costs->get_packets(mover_, begin, static_cast<double>(bytes), kAll, sim_.from, sim_.to, sim_.seen, true);
  const auto source = [&](int peer) -> const char* { return peer == rank() ? in : packets(rank(), use, peer); };
  Event* const event = record(Word::reduce_packets, begin, at, bytes);
  if (event && n > 0) {
    for (int peer = 0; peer < size(); ++peer) event->from.push_back(place(source(peer), false));
    event->to.push_back(place(out, true));
  }
  if (n == 0 || sim_.backing == timed::Backing::none) return;
  std::vector<const char*> sources;
  for (int peer = 0; peer < size(); ++peer)
    sources.push_back(peer == rank() ? in : payload_in(packets(rank(), use, peer), bytes));
  add_up({out}, sources, n, call.reduction);
}

/// Nothing to clear: arrivals carry the whole count of uses, not a tag of 32 bits.
void TimedBlock::wipe_packets(Source at) {
  const double begin = me_.clock;
  me_.clock += sim_.costs->machine().word;
  record(Word::wipe_packets, begin, at);
}

}  // namespace tutti
