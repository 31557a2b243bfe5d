// Who runs next. Different orders find different defects, so a seed draws not only numbers but a way to pick.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/emulator/check/schedule_ready.hpp"

namespace tutti::emulator {

class Policy {
 public:
  Policy(std::uint64_t seed, std::size_t streams);

  /// One of the threads that are ready: there must be one.
  std::uint32_t pick(const ReadyThreads& ready);
  /// The thread that was picked has run; `wrote`: a strong store.
  void ran(std::uint32_t thread, std::size_t stream, bool wrote);
  /// Blocks in the order in which they begin.
  void shuffle(std::vector<std::uint64_t>& blocks) { std::shuffle(blocks.begin(), blocks.end(), random_); }
  /// "one rank late (stream 2)" and so on.
  std::string name() const;

 private:
  enum class Way : std::uint8_t {
    uniform,          ///< any thread
    late,             ///< one stream hardly ever, while others can run
    bursts,           ///< a thread for a while
    depth_first,      ///< a thread as long as it can
    in_turn,          ///< a thread of each stream in turn
    paused_at_store,  ///< a stream stands still for long after a strong store
    one_stream,       ///< one stream for a while
    kWays
  };
  bool stands_still(std::size_t stream) const;
  std::uint32_t any(const ReadyThreads& ready);
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random_() % bound); }

  std::mt19937_64 random_;
  Way way_;
  std::size_t chosen_ = 0;     // stream that is late, or alone, or whose turn it is
  std::uint32_t current_ = 0;  // thread
  std::size_t left_ = 0;       // picks that current_ or chosen_ still gets
  std::uint64_t picks_ = 0;
  std::vector<std::uint64_t> still_until_;  // picks
};

}  // namespace tutti::emulator
