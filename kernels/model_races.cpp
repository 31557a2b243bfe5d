#include "kernels/model_races.hpp"

#include <algorithm>
#include <iterator>

namespace tutti::model {

void Clock::tick(int strand) {
  const auto i = static_cast<std::size_t>(strand);
  if (i >= times_.size()) times_.resize(i + 1);
  ++times_[i];
}

void Clock::forget(int strand, std::uint32_t time) { times_[static_cast<std::size_t>(strand)] = time; }

void Clock::join(const Clock& other) {
  if (times_.size() < other.times_.size()) times_.resize(other.times_.size());
  for (std::size_t i = 0; i < other.times_.size(); ++i) times_[i] = std::max(times_[i], other.times_[i]);
}

/// Cuts the span that `at` falls into; returns `after`, the first that begins at `at` or later, or the new one.
Races::Spans::iterator Races::cut(std::uintptr_t at, Spans::iterator after) {
  if (after != spans_.end() && after->first == at) return after;
  if (after == spans_.begin()) return after;
  const auto before = std::prev(after);
  if (before->second.end <= at) return after;
  const auto second = spans_.emplace_hint(after, at, before->second);
  before->second.end = at;
  return second;
}

void Races::check(const Spans::value_type& span, const Mark& now, const Clock& known, const Report& report) {
  const auto ordered = [&](const Mark& earlier) {
    return earlier.strand < 0 || earlier.strand == now.strand || earlier.time <= known.of(earlier.strand);
  };
  if (!ordered(span.second.write)) report(span.second.write, now, span.first, span.second.end);
  if (!now.write) return;
  for (const Mark& read : span.second.reads)
    if (!ordered(read)) report(read, now, span.first, span.second.end);
}

void Races::access(const void* at, std::size_t bytes, const Mark& now, const Clock& known, const Report& report) {
  if (bytes == 0) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(at), end = begin + bytes;
  auto span = cut(begin, spans_.lower_bound(begin));
  auto after = span;
  while (after != spans_.end() && after->first < end) ++after;
  cut(end, after);
  if (now.write) {
    // What comes after this write has only the write to be ordered with: those before it are in its past, or reported.
    for (auto s = span; s != spans_.end() && s->first < end; ++s) check(*s, now, known, report);
    while (span != spans_.end() && span->first < end && span->second.end < end) span = spans_.erase(span);
    if (span != spans_.end() && span->first < end) {
      if (span->first == begin) {
        span->second.write = now;
        span->second.reads.clear();
        return;
      }
      span = spans_.erase(span);
    }
    spans_.emplace_hint(span, begin, Span{end, now, {}});
    return;
  }
  std::uintptr_t next = begin;
  for (; next < end; ++span) {
    const bool gap = span == spans_.end() || span->first > next;
    if (gap)
      span = spans_.emplace_hint(span, next, Span{span == spans_.end() ? end : std::min(end, span->first), {}, {}});
    check(*span, now, known, report);
    std::erase_if(span->second.reads,
                  [&](const Mark& read) { return read.strand == now.strand || read.time <= known.of(read.strand); });
    span->second.reads.push_back(now);
    next = span->second.end;
  }
}

}  // namespace tutti::model
