// When signals became visible: the pasts of flags, exchanges between all, and packets. Each has one reader, so that who
// waits for it is one strand.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "kernels/block.hpp"
#include "kernels/timed_strands.hpp"

namespace tutti::timed {

/// One count of a flag.
struct Signal {
  std::uint64_t count;
  double seen;  // from when on
  int steps;    // of its sender
};

/// The strand that waits for a flag, an exchange or packets; nobody.
inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

/// A flag as it stands in an arena: the rest of its line tells the signals that its reader has not waited for yet. Two
/// of them fit the first half of it, the line of a CPU: thousands of ranks' flags are in no cache.
struct FlagPast {
  struct Kept {
    double seen;
    std::uint32_t count;  // the low half
    int steps;
  };
  static constexpr std::uint32_t kKept = 6;
  std::uint64_t count;
  std::uint64_t acquired;  // by its reader
  std::uint32_t waiter;    // its number, and 1; 0 if nobody waits
  std::uint16_t many;
  std::uint16_t spilled;  // 0, or which of the longer pasts goes on from here, and 1
  Kept kept[kKept];       // the earliest first
};
static_assert(sizeof(FlagPast) <= sizeof(Flag) && offsetof(FlagPast, count) == offsetof(Flag, count));

class Pasts {
 public:
  static FlagPast& of(Flag* flag) { return *reinterpret_cast<FlagPast*>(flag); }
  void add(FlagPast& flag, const Signal& signal);
  /// The earliest signal with which the flag's count reached `wanted`; it has. Earlier ones are forgotten.
  Signal acquire(FlagPast& flag, std::uint64_t wanted);

 private:
  std::vector<std::deque<Signal>> spilled_;
  std::vector<std::uint16_t> free_;
};

/// One round of an exchange in which every rank signals all and waits for all.
struct Exchange {
  std::uint64_t number = 0;
  std::uint64_t come = 0;      // ranks
  std::vector<double> stored;  // [rank] its first flag
  std::vector<int> steps;      // [rank]
  std::vector<std::uint32_t> waiting;
  // Of `enter`: what the first to come said, and everyone's buffers.
  Description description = 0;
  std::uint64_t elements = 0;
  int first = -1;
  std::vector<Place> in, out;
  std::vector<char> pulls;             // [rank]
  std::optional<Agreement> agreement;  // once it is known
};

/// Messages by packets of one use.
struct Arrival {
  std::uint64_t use = 0;  // and 1
  double seen = 0;
  int steps = 0;
  std::uint32_t fingerprint = 0;
};

}  // namespace tutti::timed
