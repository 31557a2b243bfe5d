// The bandwidth figures of a collective: nccl-tests' two, and the lecture's.
#pragma once
#include <cstddef>

namespace tutti::bench {

/// What is measured. send_recv is a ping-pong between the ranks of a pair.
enum class Operation {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  reduce,
  gather,
  scatter,
  all_to_all,
  send_recv,
  barrier
};
inline constexpr int kOperations = 10;

constexpr const char* name_of(Operation operation) {
  constexpr const char* names[kOperations] = {"all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce",
                                              "gather",     "scatter",        "all_to_all", "send_recv", "barrier"};
  return names[static_cast<int>(operation)];
}

inline constexpr double kGB = 1e9;
inline constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

/// Algorithm bandwidth, bytes/s: the bytes of the size column over the time. The size column means the buffer of a
/// rank; where a part belongs to each rank (reduce_scatter, all_gather, gather, scatter, all_to_all) the one that holds
/// all parts.
constexpr double algbw(std::size_t bytes, double seconds) {
  return seconds > 0 ? static_cast<double>(bytes) / seconds : 0;
}

/// What algbw is multiplied with to make figures of different collectives and world sizes comparable with the speed of
/// one link (nccl-tests, doc/PERFORMANCE.md). A normalised number, not a measurement of a link; 0 for one rank, where
/// no link is used.
constexpr double bus_factor(Operation operation, int ranks) {
  if (ranks <= 1) return 0;
  const double n = ranks;
  switch (operation) {
    case Operation::all_reduce: return 2 * (n - 1) / n;
    case Operation::reduce_scatter:
    case Operation::all_gather:
    case Operation::gather:
    case Operation::scatter:
    case Operation::all_to_all: return (n - 1) / n;
    case Operation::broadcast:
    case Operation::reduce:
    case Operation::send_recv: return 1;
    case Operation::barrier: return 0;
  }
  return 0;
}

/// Bus bandwidth, bytes/s.
constexpr double busbw(Operation operation, int ranks, std::size_t bytes, double seconds) {
  return algbw(bytes, seconds) * bus_factor(operation, ranks);
}

/// The figure of the lecture (Stanford CS336, spring 2025, lecture 8), bytes/s: it takes the bytes of the *output*,
/// which for reduce_scatter are 1/n of what is reduced. For all_reduce it equals busbw; for reduce_scatter it is busbw
/// / n.
constexpr double lecture_figure(Operation operation, int ranks, std::size_t output_bytes, double seconds) {
  return algbw(output_bytes, seconds) * bus_factor(operation, ranks);
}

}  // namespace tutti::bench
