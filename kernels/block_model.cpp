#include "kernels/block_model.hpp"

#include <cstring>

#include "kernels/arithmetic.hpp"

namespace tutti {

static_assert(Block<ModelBlock>);

namespace {

using model::Defect;
using model::Word;

/// The reduction of the sources, in their order, one element after the other.
void reduce_into(std::vector<char>& result, const std::vector<const char*>& sources, std::size_t n,
                 const Reduction& reduction) {
  result.resize(n * size_of(reduction.type));
  const auto with = [&](auto tag, auto op, auto accumulator) {
    using T = typename decltype(tag)::type;
    using A = typename decltype(accumulator)::type;
    for (std::size_t i = 0; i < n; ++i) {
      const auto element = [&](const char* source) {
        T value;
        std::memcpy(&value, source + i * sizeof(T), sizeof value);
        return widen<A>(value);
      };
      A sum = element(sources[0]);
      for (std::size_t s = 1; s < sources.size(); ++s) sum = combine<op()>(sum, element(sources[s]));
      const T value = finish<T>(sum, reduction.divisor);
      std::memcpy(result.data() + i * sizeof(T), &value, sizeof value);
    }
  };
  dispatch(reduction.type, reduction.op, [&](auto tag, auto op) {
    using T = typename decltype(tag)::type;
    reduction.divisor > 1 ? with(tag, op, Tag<Accumulator<T, true>>{}) : with(tag, op, Tag<Accumulator<T>>{});
  });
}

}  // namespace

/// What a test wants a word to do instead.
model::Verdict ModelBlock::verdict_of(Word word, Source at, Flags flags, Count count, Lane lane) const {
  if (!model_.hook_) return {};
  return model_.hook_({.kernel = me_.kernel,
                       .communicator = me_.communicator->number(),
                       .rank = rank(),
                       .block = index(),
                       .call = me_.call,
                       .word = word,
                       .flags = flags,
                       .count = count,
                       .lane = lane,
                       .ordinal = me_.ordinal,
                       .file = model::Line(at).file,
                       .line = static_cast<int>(at.line())});
}

/// Every word begins here: others may run first. False if the word is to do nothing.
bool ModelBlock::begin(Word word, Source at, Flags flags, Count& count) {
  if (failed_) return false;
  me_.word = word;
  me_.line = model::Line(at);
  ++me_.ordinal;
  model_.pause();
  verdict_ = verdict_of(word, at, flags, count, {});
  count -= verdict_.less;
  return !verdict_.nothing;
}

bool ModelBlock::begin(Word word, Source at) {
  Count none = 0;
  return begin(word, at, data(kAll), none);
}

char* ModelBlock::lane_to(int peer, Lane lane, Count k, Source at) {
  if (const int other = verdict_of(Word::lane_to, at, data(peer), k, lane).lane; other >= 0) lane.index = other;
  return Connections::lane_to(peer, lane, k);
}

char* ModelBlock::lane_from(int peer, Lane lane, Count k, Source at) {
  if (const int other = verdict_of(Word::lane_from, at, data(peer), k, lane).lane; other >= 0) lane.index = other;
  return Connections::lane_from(peer, lane, k);
}

/// An access of this word. `remember`: a later word of this block must not touch the memory before a barrier.
bool ModelBlock::touch(const void* at, std::size_t bytes, bool write, bool remember) {
  if (bytes == 0) return true;
  const auto begin = reinterpret_cast<std::uintptr_t>(at), end = begin + bytes;
  for (const Touch& t : touched_) {
    if (t.ordinal == me_.ordinal || t.begin >= end || begin >= t.end || !(t.write || write)) continue;
    model_.find(Defect::missing_sync, model_.text_of(me_) + (write ? ", writes " : ", reads ") +
                                          model_.text_of(begin, end) + " after word " + std::to_string(t.ordinal) +
                                          " (" + model::name_of(t.word) + " at " + t.line.text() + ")" +
                                          (t.write ? ", wrote" : ", read") + " it, with no barrier in between");
  }
  if (remember) touched_.push_back({begin, end, write, me_.ordinal, me_.word, me_.line});
  return model_.access(me_, at, bytes, write ? model::Model::Access::write : model::Model::Access::read);
}

/// An access to what the call is there to move.
bool ModelBlock::touch_payload(const void* at, std::size_t bytes, bool write) {
  if (!touch(at, bytes, write)) return false;
  model_.move(me_, at, bytes, write);
  return true;
}

/// The contract of copy and reduce: a place equals what is read, or has nothing of it.
bool ModelBlock::apart(const char* to, const char* from, std::size_t bytes) {
  if (to == from || to + bytes <= from || from + bytes <= to) return true;
  model_.find(Defect::stray, model_.text_of(me_) + ", writes what overlaps its source");
  return false;
}

/// The same of every place; the switch moves the bytes once for all of them.
bool ModelBlock::touch_payloads(View places, std::size_t bytes, bool write, bool by_switch) {
  bool right = true;
  for (int i = 0; i < places.count; ++i)
    right &= by_switch ? touch(places.at(i), bytes, write) : touch_payload(places.at(i), bytes, write);
  if (by_switch) model_.move_by_switch(me_, bytes, write);
  return right;
}

void ModelBlock::copy(View to, const void* from, std::size_t bytes, Source at) {
  if (begin(Word::copy, at) && bytes != 0) copy_now(to, static_cast<const char*>(from), bytes, {});
}
void ModelBlock::copy(Multicast to, const void* from, std::size_t bytes, Source at) {
  if (begin(Word::copy, at) && bytes != 0) copy_now(to, static_cast<const char*>(from), bytes, {.switch_out = true});
}

void ModelBlock::copy_now(View to, const char* source, std::size_t bytes, Through through) {
  bool right = touch_payload(source, bytes, false);
  right &= touch_payloads(to, bytes, true, through.switch_out);
  for (int i = 0; i < to.count; ++i) right &= apart(to.at(i), source, bytes);
  if (!right) return;
  if (to.count == 1) {
    std::memmove(to.at(0), source, bytes);
    return;
  }
  moved_.assign(source, source + bytes);
  store(to);
}

void ModelBlock::reduce(View to, View from, std::size_t n, const Reduction& reduction, Source at) {
  if (begin(Word::reduce, at) && n != 0) reduce_now(to, from, n, reduction, {});
}
void ModelBlock::reduce(Multicast to, Multicast from, std::size_t n, const Reduction& reduction, Source at) {
  if (begin(Word::reduce, at) && n != 0) reduce_now(to, from, n, reduction, {.switch_in = true, .switch_out = true});
}
void ModelBlock::reduce(View to, Multicast from, std::size_t n, const Reduction& reduction, Source at) {
  if (begin(Word::reduce, at) && n != 0) reduce_now(to, from, n, reduction, {.switch_in = true});
}

void ModelBlock::reduce_now(View to, View from, std::size_t n, const Reduction& reduction, Through through) {
  const std::size_t bytes = n * size_of(reduction.type);
  sources_.clear();
  for (int s = 0; s < from.count; ++s) sources_.push_back(from.at(s));
  bool right = touch_payloads(from, bytes, false, through.switch_in);
  right &= touch_payloads(to, bytes, true, through.switch_out);
  for (int i = 0; i < to.count; ++i)
    for (const char* source : sources_) right &= apart(to.at(i), source, bytes);
  if (!right) return;
  reduce_sources(n, reduction);
  store(to);
}

/// Of sources_, to moved_.
void ModelBlock::reduce_sources(std::size_t n, const Reduction& reduction) {
  reduce_into(moved_, sources_, n, reduction);
}

/// To one place after the other; others may run in between.
void ModelBlock::store(View to) {
  for (int i = 0; i < to.count; ++i) {
    if (i > 0) model_.pause();
    std::memcpy(to.at(i), moved_.data(), moved_.size());
  }
}

void ModelBlock::signal(Flags to, Count count, Source at) {
  if (begin(Word::signal, at, to, count)) signal_now(to, count);
}
void ModelBlock::wait(Flags from, Count count, Source at) {
  if (begin(Word::wait, at, from, count)) wait_now(from, count);
}

void ModelBlock::signal_now(Flags to, Count count) {
  touched_.clear();
  for_each(to.peer, [&](int peer) {
    const std::uint64_t base = sent_base({to.purpose, peer});
    publish(&flag(peer, to.purpose, rank())->count, base + static_cast<std::uint64_t>(count), false);
  });
}

void ModelBlock::wait_now(Flags from, Count count) {
  touched_.clear();
  for_each(from.peer, [&](int peer) {
    const std::uint64_t base = received_base({from.purpose, peer});
    const std::uint64_t wanted = base + static_cast<std::uint64_t>(count);
    if (failed_ || static_cast<Count>(wanted) <= 0) return;  // of before the communicator's first call
    await(flag(rank(), from.purpose, peer)->count, wanted, false, model::name_of(from.purpose), peer, base);
  });
}

bool ModelBlock::await(const std::uint64_t& flag, std::uint64_t wanted, bool tag, const char* what, int peer,
                       std::uint64_t base) {
  const model::Wait wait{.flag = &flag, .wanted = wanted, .tag = tag, .what = what, .peer = peer, .base = base};
  if (!model_.await(me_, wait)) {
    fail(std::string("waited in vain for ") + what + " from rank " + std::to_string(peer));
    return false;
  }
  model_.acquire(me_, wait);
  return true;
}

void ModelBlock::publish(std::uint64_t* flag, std::uint64_t value, bool tag) {
  if (!verdict_.early) return model_.publish(me_, me_.clock, flag, value, tag);
  model::Clock known = me_.clock;
  known.forget(me_.number, me_.accessed - 1);
  model_.publish(me_, known, flag, value, tag);
}

void ModelBlock::fail(const std::string& why) {
  failed_ = true;
  board(rank())->failed = 1;
  model_.fail(model_.text_of(me_) + ": " + why);
}

void ModelBlock::advance_sent(Flags to, Count count, Source at) {
  if (!begin(Word::advance_sent, at, to, count)) return;
  for_each(to.peer, [&](int peer) { sent_base({to.purpose, peer}) += static_cast<std::uint64_t>(count); });
}
void ModelBlock::advance_received(Flags from, Count count, Source at) {
  if (!begin(Word::advance_received, at, from, count)) return;
  for_each(from.peer, [&](int peer) { received_base({from.purpose, peer}) += static_cast<std::uint64_t>(count); });
}
void ModelBlock::advance_uses(Region region, Count count, Source at) {
  if (begin(Word::advance_uses, at, data(kAll), count)) uses(region) += static_cast<std::uint64_t>(count);
}

void ModelBlock::sync(Source at) {
  if (begin(Word::sync, at)) touched_.clear();
}

}  // namespace tutti
