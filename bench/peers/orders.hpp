// What the bench and the processes of a peer share: orders, answers, and where the peer's ranks meet. One mapping of a
// file without a name, which the peer opens through the bench's process.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "bench/trial.hpp"
#include "kernels/connection.hpp"

namespace tutti::bench::peers {

/// What all ranks of a peer are to do.
struct Order {
  enum class Kind : std::uint8_t { verify, batch, end };
  Kind kind = Kind::end;
  Case c = {};
  Batch batch = {};
};

struct Board {
  /// How many orders were given; the peer's ranks sleep on it. Written by rank 0 of the bench, after `order`.
  alignas(kLine) std::atomic<std::uint32_t> orders;
  /// How many answers there are, to all orders; to have started is the first. The bench sleeps on it.
  alignas(kLine) std::atomic<std::uint32_t> answers;
  /// Not 0: the peer is no more, and `fault` says why. Written once.
  alignas(kLine) std::atomic<std::uint32_t> ended;
  char fault[400];
  Order order;
  std::size_t in_bytes, out_bytes;  ///< of each rank's buffers
  int bench;                        ///< process of rank 0: without it the peer ends

  /// One rank of the peer.
  struct Rank {
    alignas(kLine) std::atomic<std::uint64_t> meetings;
    double seconds;       ///< per call
    std::uint64_t wrong;  ///< elements
    char refusal[200];    ///< why it cannot run the case that it was to verify; empty if it can
  } ranks[kMaxRanks];
  char version[200];  ///< of the library, by rank 0
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free && std::is_trivially_copyable_v<Order>);

/// Sleeps while `word` is `value`, for at most `seconds`. It may wake for nothing.
void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t value, double seconds);
void wake_all(const std::atomic<std::uint32_t>& word);

/// Says that the peer is no more, and why; the first who says it is heard.
void end_with(Board& board, const char* why);

}  // namespace tutti::bench::peers
