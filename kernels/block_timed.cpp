#include "kernels/block_timed.hpp"

#include <cstring>
#include <stdexcept>

#include "kernels/host_loops.hpp"
#include "kernels/host_loops_sets.hpp"

namespace tutti {

static_assert(Block<TimedBlock>);

using model::Word;
using timed::Arrival;
using timed::Event;
using timed::Exchange;
using timed::FlagPast;
using timed::kNone;
using timed::Waiting;

namespace {

// Bytes of a flag, and of an entry that `enter` writes.
constexpr double kFlagBytes = sizeof(std::uint64_t);
constexpr double kEntryBytes = 6 * sizeof(std::uint64_t);
constexpr int kMostSources = 64;  // of a vector loop

char* payload_in(char* line, std::size_t bytes) { return bytes <= kPacketLine ? line : line + kLine; }

void add_up(const std::vector<char*>& to, const std::vector<const char*>& from, std::size_t n,
            const Reduction& reduction) {
  const int places = static_cast<int>(to.size()), sources = static_cast<int>(from.size());
  if (sources > kMostSources)
    host::reduce_by_element(to.data(), places, from.data(), sources, n, reduction);
  else
    host::loops().reduce(to.data(), places, from.data(), sources, n, reduction, host::Stores::cached);
}

}  // namespace

/// An event of this block that ends now.
Event* TimedBlock::record(Word word, double begin, Source at, std::size_t bytes) {
  if (!sim_.trace) return nullptr;
  sim_.trace->push_back({.word = word,
                         .rank = rank(),
                         .block = index(),
                         .file = at.file_name(),
                         .line = static_cast<int>(at.line()),
                         .begin = begin,
                         .end = me_.clock,
                         .step = me_.steps,
                         .bytes = bytes,
                         .from = {},
                         .to = {}});
  return &sim_.trace->back();
}

timed::At TimedBlock::place(const void* at) const {
  return sim_.places.at(at, sim_.launches(sim_.places.in_arena(at) ? rank() : std::max(0, sim_.places.owner(at))));
}

void TimedBlock::fail(const char* what, int peer) const {
  throw std::logic_error(sim_.text_of(me_) + ": rank " + std::to_string(peer) + " " + what);
}

timed::Part TimedBlock::part(const void* at, std::size_t bytes) const {
  const int owner = sim_.places.owner(at);
  if (owner < 0) throw std::logic_error(sim_.text_of(me_) + " touches memory that is none of this world's");
  return {at, owner, sim_.places.in_arena(at), static_cast<double>(bytes)};
}

void TimedBlock::move(Word word, View to, View from, std::size_t bytes, Source at) {
  sim_.scheduler.take_turn(me_);
  sim_.from.clear();
  sim_.to.clear();
  for (int i = 0; i < from.count; ++i) {
    sim_.from.push_back(part(from.at(i), bytes));
    if (const int owner = sim_.from.back().owner; owner != rank()) account_.received(owner, static_cast<double>(bytes));
  }
  for (int i = 0; i < to.count; ++i) {
    sim_.to.push_back(part(to.at(i), bytes));
    if (const int owner = sim_.to.back().owner; owner != rank()) account_.sent(owner, static_cast<double>(bytes), 0);
  }
  const double begin = me_.clock;
  const timed::Moved moved = sim_.costs->move(mover_, begin, sim_.from, sim_.to);
  me_.clock = moved.end;
  me_.posted = std::max(me_.posted, moved.arrived);
  Event* const event = record(word, begin, at, bytes);
  if (!event) return;
  event->arrived = moved.arrived;
  for (int i = 0; i < from.count; ++i) event->from.push_back(place(from.at(i)));
  for (int i = 0; i < to.count; ++i) event->to.push_back(place(to.at(i)));
}

void TimedBlock::copy(View to, const void* from, std::size_t bytes, Source at) {
  if (bytes == 0) return;
  move(Word::copy, to, one(from), bytes, at);
  if (sim_.backing == timed::Backing::none) return;
  for (int i = 0; i < to.count; ++i) std::memmove(to.at(i), from, bytes);
}

void TimedBlock::reduce(View to, View from, std::size_t n, const Reduction& reduction, Source at) {
  if (n == 0) return;
  move(Word::reduce, to, from, n * size_of(reduction.type), at);
  if (sim_.backing == timed::Backing::none) return;
  std::vector<char*> places;
  std::vector<const char*> sources;
  for (int i = 0; i < to.count; ++i) places.push_back(to.at(i));
  for (int i = 0; i < from.count; ++i) sources.push_back(from.at(i));
  add_up(places, sources, n, reduction);
}

/// When the first flag of a signal that begins now is stored. What was stored before has then arrived.
double TimedBlock::signal_stored() {
  const double stored = sim_.costs->signal(mover_, me_.clock, me_.posted);
  me_.posted = 0;
  return stored;
}

void TimedBlock::signal(Flags to, Count count, Source at) {
  const double begin = me_.clock;
  double stored = signal_stored();
  double seen = 0;
  bool first = true;
  for_each(to.peer, [&](int peer) {
    if (!first) stored += sim_.costs->each_flag();
    first = false;
    seen = stored + sim_.costs->flag();
    FlagPast& its = timed::Pasts::of(flag(peer, to.purpose, rank()));
    const std::uint64_t value = sent_base({to.purpose, peer}) + static_cast<std::uint64_t>(count);
    sim_.pasts.add(its, {value, seen, me_.steps});
    account_.sent(peer, 0, kFlagBytes);
    if (its.waiter == 0) return;
    timed::Strand& waiter = sim_.scheduler.strand(its.waiter - 1);
    if (value < waiter.waiting.wanted) return;
    its.waiter = 0;
    sim_.scheduler.wake(waiter, seen);
  });
  me_.clock = stored;
  Event* const event = record(Word::signal, begin, at);
  if (!event) return;
  event->arrived = seen;
  event->flags = to;
  event->count = count;
}

/// Goes on when the flag's count, `wanted` of it, could be seen.
void TimedBlock::await(FlagPast& flag, Flags from, std::uint64_t wanted, std::uint64_t base, Source at) {
  if (static_cast<Count>(wanted - flag.acquired) <= 0) return;  // known from an earlier wait, or of before all calls
  while (flag.count < wanted) {
    flag.waiter = static_cast<std::uint32_t>(me_.number) + 1;
    me_.waiting = {Waiting::Kind::flag, from, wanted, base, &flag.count, at};
    sim_.scheduler.park(me_);
  }
  const timed::Signal signal = sim_.pasts.acquire(flag, wanted);
  me_.clock = std::max(me_.clock, signal.seen);
  // What earlier calls sent is no step of this one.
  if (static_cast<Count>(wanted - base) > 0) me_.steps = std::max(me_.steps, signal.steps + 1);
}

void TimedBlock::wait(Flags from, Count count, Source at) {
  const double begin = me_.clock;
  bool first = true;
  for_each(from.peer, [&](int peer) {
    const std::uint64_t base = received_base({from.purpose, peer});
    await(timed::Pasts::of(flag(rank(), from.purpose, peer)), {from.purpose, peer},
          base + static_cast<std::uint64_t>(count), base, at);
    if (!first) me_.clock += sim_.costs->each_flag();
    first = false;
  });
  me_.clock += sim_.costs->wait();
  Event* const event = record(Word::wait, begin, at);
  if (!event) return;
  event->flags = from;
  event->count = count;
}

/// When `who` has seen the flags of all.
double TimedBlock::come(Exchange& all, const timed::Strand& who) const {
  const double each = sim_.costs->each_flag(), flag = sim_.costs->flag();
  const auto me = static_cast<std::size_t>(who.rank);
  double time = who.clock;
  for (std::size_t p = 0; p < all.stored.size(); ++p) {
    if (p == me) continue;
    const auto before = static_cast<double>(me - (me > p ? 1 : 0));  // flags that p sets before mine
    time = std::max(time, all.stored[p] + before * each + flag) + each;
  }
  return time - each;
}

/// Signals all, and waits for all: `call` if it tells them of its call.
void TimedBlock::exchange(Word word, const Call* call, Source at) {
  const Purpose purpose = call ? Purpose::enter : Purpose::leave;
  // One count for all peers: everyone takes part in every exchange.
  const std::uint64_t number = ++sent_base({purpose, rank()});
  Exchange& all = sim_.exchange(purpose, index(), number);
  const double begin = me_.clock;
  const auto me = static_cast<std::size_t>(rank());
  if (call) {
    if (all.first < 0) {
      all.first = rank();
      all.description = call->description;
      all.elements = call->count;
    }
    if (all.description != call->description || all.elements != call->count)
      fail("has entered another call", all.first);
    all.in[me] = call->in_place;
    all.out[me] = call->out_place;
  }
  all.stored[me] = signal_stored();
  all.steps[me] = me_.steps;
  const double last = all.stored[me] + (size() - 2) * sim_.costs->each_flag();
  sim_.traffic.more_to_all(rank(), call ? kEntryBytes : kFlagBytes);
  me_.clock = last;
  if (++all.come < all.stored.size()) {
    all.waiting.push_back(static_cast<std::uint32_t>(me_.number));
    me_.waiting = {Waiting::Kind::exchange, {purpose, kAll}, number, number - 1, &all.come, at};
    sim_.scheduler.park(me_);
  } else {
    for (const std::uint32_t other : all.waiting) {
      timed::Strand& strand = sim_.scheduler.strand(other);
      sim_.scheduler.wake(strand, come(all, strand));
    }
    me_.clock = come(all, me_);
  }
  me_.clock += sim_.costs->wait();
  for (std::size_t p = 0; p < all.steps.size(); ++p)
    if (p != me) me_.steps = std::max(me_.steps, all.steps[p] + 1);
  Event* const event = record(word, begin, at);
  if (!event) return;
  event->arrived = last + sim_.costs->flag();
  event->flags = {purpose, kAll};
  event->count = 1;
}

Memory TimedBlock::enter(const Call& call, Reach reach, Source at) {
  exchange(Word::enter, &call, at);
  Exchange& entered = sim_.exchange(Purpose::enter, index(), sent_base({Purpose::enter, rank()}));
  return resolve_tables(call, reach, entered);
}

Memory TimedBlock::resolve_tables(const Call& call, Reach reach, Exchange& entered) {
  // Every rank comes to the same verdict, so the first one's holds for all.
  if (entered.mapped < 0) {
    entered.mapped = 1;
    for (int peer = 0; peer < size(); ++peer) {
      const auto p = static_cast<std::size_t>(peer);
      entered.mapped &= reachable(reach, entered.in[p], entered.out[p], peer, call.peer) ? 1 : 0;
    }
  }
  if (entered.mapped == 0) return Memory::staged;
  for (int peer = 0; peer < size(); ++peer) {
    const auto p = static_cast<std::size_t>(peer);
    const bool own = peer == rank();
    const bool reads = reads_in(reach, peer, call.peer), writes = writes_out(reach, peer, call.peer);
    in_table()[peer] = !reads ? nullptr : own ? const_cast<char*>(call.in) : resolve(entered.in[p], peer);
    out_table()[peer] = !writes ? nullptr : own ? call.out : resolve(entered.out[p], peer);
  }
  return Memory::peer_mapped;
}

void TimedBlock::leave(Source at) { exchange(Word::leave, nullptr, at); }

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
    event->from.push_back(place(in + static_cast<std::size_t>(peer) * stride));
    event->to.push_back(place(packets(peer, use, rank())));
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
    event->from.push_back(place(line));
    event->to.push_back(place(to));
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
    for (int peer = 0; peer < size(); ++peer) event->from.push_back(place(source(peer)));
    event->to.push_back(place(out));
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

void TimedBlock::offer(Entry* slot, const Call& call, bool pulled, Source at) {
  slot->description = call.description;
  slot->elements = call.count;
  slot->number = call.number;
  slot->in = pulled ? call.in_place : Place{};
  record(Word::offer, me_.clock, at);
}

Offer TimedBlock::accept(Entry* slot, const Call& call, Source at) {
  record(Word::accept, me_.clock, at);
  if (slot->description != call.description || slot->elements != call.count) fail("sends another message", call.peer);
  if (!slot->in.mapped()) return {Memory::staged, nullptr};
  return {Memory::peer_mapped, resolve(slot->in, call.peer)};
}

}  // namespace tutti
