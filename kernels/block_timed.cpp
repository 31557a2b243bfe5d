#include "kernels/block_timed.hpp"

#include <cstring>
#include <stdexcept>

#include "kernels/host_loops.hpp"
#include "kernels/host_loops_sets.hpp"

namespace tutti {

static_assert(Block<TimedBlock>);

using model::Word;
using timed::Event;
using timed::Exchange;
using timed::FlagPast;
using timed::Waiting;

namespace {

constexpr double kEntryBytes = 6 * sizeof(std::uint64_t);  // that `enter` writes

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

timed::At TimedBlock::place(const void* at, bool written) const {
  timed::At found =
      sim_.places.at(at, sim_.launches(sim_.places.in_arena(at) ? rank() : std::max(0, sim_.places.owner(at))));
  // Slots that their owner fills, and others read, are its outbox.
  if (found.kind == timed::At::Kind::inbox && (found.rank == rank()) == written) found.kind = timed::At::Kind::outbox;
  return found;
}

void TimedBlock::fail(const char* what, int peer) const {
  throw std::logic_error(sim_.text_of(me_) + ": rank " + std::to_string(peer) + " " + what);
}

timed::Part TimedBlock::part(const void* at, std::size_t bytes) const {
  const int owner = sim_.places.owner(at);
  if (owner < 0) throw std::logic_error(sim_.text_of(me_) + " touches memory that is none of this world's");
  return {.at = at, .owner = owner, .slot = sim_.places.in_arena(at), .bytes = static_cast<double>(bytes)};
}

void TimedBlock::move(Word word, View to, View from, std::size_t bytes, Through through, Source at) {
  sim_.scheduler.take_turn(me_);
  sim_.from.clear();
  sim_.to.clear();
  const auto payload = static_cast<double>(bytes);
  for (int i = 0; i < from.count; ++i) {
    sim_.from.push_back(part(from.at(i), bytes));
    sim_.from.back().by_switch = through.switch_in;
    const int owner = sim_.from.back().owner;
    if (through.switch_in)
      sim_.traffic.into_switch(owner, payload);
    else if (owner != rank())
      account_.received(owner, payload);
  }
  for (int i = 0; i < to.count; ++i) {
    sim_.to.push_back(part(to.at(i), bytes));
    sim_.to.back().by_switch = through.switch_out;
    const int owner = sim_.to.back().owner;
    if (through.switch_out)
      sim_.traffic.out_of_switch(owner, payload);
    else if (owner != rank())
      account_.sent(owner, payload, 0);
  }
  if (through.switch_in) sim_.traffic.out_of_switch(rank(), payload);
  if (through.switch_out) sim_.traffic.into_switch(rank(), payload);
  const double begin = me_.clock;
  const timed::Moved moved = sim_.costs->move(mover_, begin, sim_.from, sim_.to);
  me_.clock = moved.end;
  me_.posted = std::max(me_.posted, moved.arrived);
  Event* const event = record(word, begin, at, bytes);
  if (!event) return;
  event->arrived = moved.arrived;
  for (int i = 0; i < from.count; ++i) event->from.push_back(place(from.at(i), false));
  for (int i = 0; i < to.count; ++i) event->to.push_back(place(to.at(i), true));
}

void TimedBlock::copy(View to, const void* from, std::size_t bytes, Source at) { copy_now(to, from, bytes, {}, at); }
void TimedBlock::copy(Multicast to, const void* from, std::size_t bytes, Source at) {
  copy_now(to, from, bytes, {.switch_out = true}, at);
}
void TimedBlock::copy_now(View to, const void* from, std::size_t bytes, Through through, Source at) {
  if (bytes == 0) return;
  move(Word::copy, to, one(from), bytes, through, at);
  if (sim_.backing == timed::Backing::none) return;
  for (int i = 0; i < to.count; ++i) std::memmove(to.at(i), from, bytes);
}

void TimedBlock::reduce(View to, View from, std::size_t n, const Reduction& reduction, Source at) {
  reduce_now(to, from, n, reduction, {}, at);
}
void TimedBlock::reduce(Multicast to, Multicast from, std::size_t n, const Reduction& reduction, Source at) {
  reduce_now(to, from, n, reduction, {.switch_in = true, .switch_out = true}, at);
}
void TimedBlock::reduce(View to, Multicast from, std::size_t n, const Reduction& reduction, Source at) {
  reduce_now(to, from, n, reduction, {.switch_in = true}, at);
}
void TimedBlock::reduce_now(View to, View from, std::size_t n, const Reduction& reduction, Through through, Source at) {
  if (n == 0) return;
  move(Word::reduce, to, from, n * size_of(reduction.type), through, at);
  if (sim_.backing == timed::Backing::none) return;
  std::vector<char*> places;
  std::vector<const char*> sources;
  for (int i = 0; i < to.count; ++i) places.push_back(to.at(i));
  for (int i = 0; i < from.count; ++i) sources.push_back(from.at(i));
  add_up(places, sources, n, reduction);
}

void TimedBlock::add_up(const std::vector<char*>& to, const std::vector<const char*>& from, std::size_t n,
                        const Reduction& reduction) {
  constexpr int kMostSources = 64;  // of a vector loop
  const int places = static_cast<int>(to.size()), sources = static_cast<int>(from.size());
  if (sources > kMostSources)
    host::reduce_by_element(to.data(), places, from.data(), sources, n, reduction);
  else
    host::loops().reduce(to.data(), places, from.data(), sources, n, reduction, host::Stores::cached);
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
    all.pulls[me] = call->pulls;
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

Memory TimedBlock::enter(const Call& call, Reach pushing, Source at) {
  return enter(call, pushing, Reach::nothing, at);
}

Memory TimedBlock::enter(const Call& call, Reach pushing, Reach pulling, Source at) {
  exchange(Word::enter, &call, at);
  Exchange& entered = sim_.exchange(Purpose::enter, index(), sent_base({Purpose::enter, rank()}));
  // Every rank comes to the same verdict, so the first one's holds for all.
  if (!entered.agreement) {
    entered.agreement.emplace(pushing, pulling);
    for (int peer = 0; peer < size(); ++peer) {
      const auto p = static_cast<std::size_t>(peer);
      entered.agreement->look(call, entered.in[p], entered.out[p], entered.pulls[p] != 0, peer);
    }
  }
  return resolve_tables(call, *entered.agreement, entered);
}

Memory TimedBlock::resolve_tables(const Call& call, const Agreement& agreement, Exchange& entered) {
  if (agreement.memory() == Memory::staged) return Memory::staged;
  const Reach reach = agreement.granted();
  for (int peer = 0; peer < size(); ++peer) {
    const auto p = static_cast<std::size_t>(peer);
    const bool own = peer == rank();
    const bool reads = reads_in(reach, peer, call.peer), writes = writes_out(reach, peer, call.peer);
    in_table()[peer] = !reads ? nullptr : own ? const_cast<char*>(call.in) : resolve(entered.in[p], peer);
    out_table()[peer] = !writes ? nullptr : own ? call.out : resolve(entered.out[p], peer);
  }
  return agreement.memory();
}

void TimedBlock::leave(Source at) { exchange(Word::leave, nullptr, at); }

void TimedBlock::offer(Header* header, const Call& call, Place place, Source at) {
  header->place = place;
  header->elements = call.count;
  header->description = call.description;
  record(Word::offer, me_.clock, at);
}

Offer TimedBlock::accept(Header* header, const Call& call, Source at) {
  record(Word::accept, me_.clock, at);
  if (header->description != call.description || header->elements != call.count)
    fail("sends another message", call.peer);
  if (!header->place.mapped()) return {Memory::staged, nullptr};
  return {Memory::peer_mapped, resolve(header->place, call.peer)};
}

}  // namespace tutti
