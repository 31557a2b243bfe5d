// Which accesses to memory nothing orders: vector clocks, and for each range who wrote it last and who read it since.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "kernels/model_words.hpp"

namespace tutti::model {

/// How much of every strand's past somebody has heard of; strands beyond its end count 0.
class Clock {
 public:
  std::uint32_t of(int strand) const {
    const auto i = static_cast<std::size_t>(strand);
    return i < times_.size() ? times_[i] : 0;
  }
  void tick(int strand);
  /// What the strand did after `time`.
  void forget(int strand, std::uint32_t time);
  void join(const Clock& other);

 private:
  std::vector<std::uint32_t> times_;
};

/// One access: by the `ordinal`-th word of a strand's call, at the strand's `time`.
struct Mark {
  int strand = -1;
  std::uint32_t time = 0;
  std::uint32_t ordinal = 0;
  Word word = Word::caller;
  bool write = false;
  std::uint32_t call = 0;
  int step = 0;
  const char* kernel = "";
  Line line;
};

/// The memory's history, exact to the byte.
class Races {
 public:
  using Report = std::function<void(const Mark& earlier, const Mark& now, std::uintptr_t begin, std::uintptr_t end)>;

  /// Records an access by `now.strand`, whose clock is `known`, and reports each earlier one in conflict with it that
  /// is not in its past.
  void access(const void* at, std::size_t bytes, const Mark& now, const Clock& known, const Report& report);

 private:
  struct Span {
    std::uintptr_t end = 0;
    Mark write;               // none: strand -1
    std::vector<Mark> reads;  // since the write, but those before another one here
  };
  using Spans = std::map<std::uintptr_t, Span>;

  Spans::iterator cut(std::uintptr_t at, Spans::iterator after);
  static void check(const Spans::value_type& span, const Mark& now, const Clock& known, const Report& report);

  Spans spans_;  // by begin; disjoint
};

}  // namespace tutti::model
