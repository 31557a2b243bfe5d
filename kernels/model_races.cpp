#include "kernels/model_races.hpp"

#include <algorithm>

namespace tutti::model {
namespace {

using Kind = Conflict::Kind;

bool ordered(const Mark& earlier, const Mark& now, const Clock& known) {
  return earlier.strand < 0 || earlier.strand == now.strand || earlier.time <= known.of(earlier.strand);
}

}  // namespace

void Clock::tick(int strand) {
  const auto i = static_cast<std::size_t>(strand);
  if (i >= times_.size()) times_.resize(i + 1);
  ++times_[i];
}

void Clock::join(const Clock& other) {
  if (times_.size() < other.times_.size()) times_.resize(other.times_.size());
  for (std::size_t i = 0; i < other.times_.size(); ++i) times_[i] = std::max(times_[i], other.times_[i]);
}

void Clock::forget(int strand, std::uint32_t time) { times_[static_cast<std::size_t>(strand)] = time; }

/// Cuts the span that `at` falls into; which is the first that begins at `at` or later.
std::size_t History::cut(std::uintptr_t at) {
  const auto found =
      std::lower_bound(spans_.begin(), spans_.end(), at, [](const Span& s, std::uintptr_t a) { return s.end <= a; });
  const auto i = static_cast<std::size_t>(found - spans_.begin());
  if (found == spans_.end() || found->begin >= at) return i;
  Span second = *found;
  found->end = second.begin = at;
  spans_.insert(found + 1, std::move(second));
  return i + 1;
}

void History::access(std::uintptr_t begin, std::uintptr_t end, const Mark& now, const Clock& known, Contents contents,
                     std::vector<Conflict>& conflicts) {
  if (begin == end) return;
  if (now.write)
    write(begin, end, now, known, contents, conflicts);
  else
    read(begin, end, now, known, contents, conflicts);
}

void History::write(std::uintptr_t begin, std::uintptr_t end, const Mark& now, const Clock& known, Contents contents,
                    std::vector<Conflict>& conflicts) {
  const std::size_t first = cut(begin);
  std::size_t last = first;
  if (first == spans_.size() || spans_[first].begin != begin || spans_[first].end != end) {
    last = cut(end);
    if (first == last) {
      spans_.insert(spans_.begin() + static_cast<std::ptrdiff_t>(first), Span{begin, end, {}, {}});
      ++last;
    }
  } else {
    ++last;
  }
  // What comes after this write has only the write to be ordered with: those before it are in its past, or reported.
  for (std::size_t i = first; i < last; ++i) {
    const Span& s = spans_[i];
    if (!ordered(s.write, now, known)) conflicts.push_back({Kind::unordered, s.write, s.begin, s.end});
    for (const Mark& read : s.reads)
      if (!ordered(read, now, known)) conflicts.push_back({Kind::unordered, read, s.begin, s.end});
    // Tags are wiped so that nobody takes them for a message.
    if (contents == Contents::passing && s.write.strand >= 0 && s.reads.empty() && s.write.word != Word::wipe_packets)
      conflicts.push_back({Kind::overwritten, s.write, s.begin, s.end});
  }
  spans_.erase(spans_.begin() + static_cast<std::ptrdiff_t>(first) + 1,
               spans_.begin() + static_cast<std::ptrdiff_t>(last));
  Span& whole = spans_[first];
  whole.begin = begin;
  whole.end = end;
  whole.write = now;
  whole.reads.clear();
}

void History::read(std::uintptr_t begin, std::uintptr_t end, const Mark& now, const Clock& known, Contents contents,
                   std::vector<Conflict>& conflicts) {
  std::size_t i = cut(begin);
  if (i == spans_.size() || spans_[i].end != end) cut(end);
  for (std::uintptr_t next = begin; next < end; ++i) {
    if (i == spans_.size() || spans_[i].begin > next) {
      const std::uintptr_t until = i == spans_.size() ? end : std::min(end, spans_[i].begin);
      spans_.insert(spans_.begin() + static_cast<std::ptrdiff_t>(i), Span{next, until, {}, {}});
    }
    Span& s = spans_[i];
    if (!ordered(s.write, now, known)) conflicts.push_back({Kind::unordered, s.write, s.begin, s.end});
    if (s.write.strand < 0 || s.write.spoils || (contents == Contents::passing && s.write.generation != now.generation))
      conflicts.push_back({Kind::unwritten, s.write, s.begin, s.end});
    std::erase_if(s.reads,
                  [&](const Mark& read) { return read.strand == now.strand || read.time <= known.of(read.strand); });
    s.reads.push_back(now);
    next = s.end;
  }
}

}  // namespace tutti::model
