// What nothing orders, nobody wrote or nobody read: vector clocks, and for each range who wrote it last and who read it
// since.
#pragma once
#include <cstddef>
#include <cstdint>
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
  void join(const Clock& other);
  /// What the strand did after `time`.
  void forget(int strand, std::uint32_t time);

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
  bool spoils = false;           ///< a write after which the bytes mean nothing
  std::uint32_t call = 0;        ///< of its rank
  std::uint32_t generation = 0;  ///< the same at both ends of a collective, or of a message
  int step = 0;
  const char* kernel = "";
  Line line;
};

/// What is wrong with an access to some bytes.
struct Conflict {
  enum class Kind : std::uint8_t {
    unordered,    ///< nothing orders it after `earlier`
    unwritten,    ///< it reads what nobody wrote, or what `earlier` left of another call or spoilt
    overwritten,  ///< it overwrites what `earlier` wrote and nobody has read
  };
  Kind kind;
  Mark earlier;  ///< strand -1: there is none
  std::uintptr_t begin, end;
};

/// What some memory holds.
enum class Contents : std::uint8_t {
  buffer,  ///< a caller's data: good from one call to the next, and nobody need read it
  passing  ///< what one rank leaves for another to read in the same call, before it leaves more
};

/// The past of a buffer or slot, exact to the byte.
class History {
 public:
  /// Records an access by `now.strand`, whose clock is `known`, and appends what is wrong with it.
  void access(std::uintptr_t begin, std::uintptr_t end, const Mark& now, const Clock& known, Contents contents,
              std::vector<Conflict>& conflicts);

 private:
  struct Span {
    std::uintptr_t begin = 0, end = 0;
    Mark write;               // none: strand -1
    std::vector<Mark> reads;  // since the write, but those before another one here
  };

  std::size_t cut(std::uintptr_t at);
  void write(std::uintptr_t begin, std::uintptr_t end, const Mark& now, const Clock& known, Contents contents,
             std::vector<Conflict>& conflicts);
  void read(std::uintptr_t begin, std::uintptr_t end, const Mark& now, const Clock& known, Contents contents,
            std::vector<Conflict>& conflicts);

  std::vector<Span> spans_;  // by begin; disjoint
};

}  // namespace tutti::model
