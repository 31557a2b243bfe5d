// Sizes as people type them, and the series of sizes that a run walks through.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/bandwidth.hpp"
#include "kernels/types.hpp"

namespace tutti::bench {

/// "8", "4K", "64M" or "2G" in bytes (1024-based, as nccl-tests has it); nullopt for anything else and for what does
/// not fit 63 bits.
std::optional<std::size_t> parse_size(std::string_view text);

/// 67108864 -> "64M", 1000 -> "1000": what parse_size reads back.
std::string exact_size(std::size_t bytes);

/// 1234567890 -> "1.15 GiB": for messages.
std::string readable_bytes(double bytes);

/// 0.0021 -> "2.10 ms"; us, ms or s.
std::string readable_duration(double seconds);

/// first, then + step (if step > 0) or * factor, up to last; ends early once `limit` sizes are exceeded.
struct SizeRange {
  std::size_t first = 8;
  std::size_t last = 64 << 20;
  std::size_t step = 0;
  double factor = 2;
  std::vector<std::size_t> sizes(std::size_t limit) const;
};

/// One call to measure, as every contender gets it.
struct Case {
  Operation operation = Operation::all_reduce;
  int ranks = 1;
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  int root = 0;           ///< where rooted() is true
  bool in_place = false;  ///< only where has_places() is true
  std::size_t bytes = 0;  ///< the size column: what is really used, after trimming
  std::size_t count = 0;  ///< elements per rank, as the call takes them

  bool operator==(const Case&) const = default;
  bool is(Operation any) const { return operation == any; }
  bool reduces() const { return is(Operation::all_reduce) || is(Operation::reduce_scatter) || is(Operation::reduce); }
  bool rooted() const {
    return is(Operation::broadcast) || is(Operation::reduce) || is(Operation::gather) || is(Operation::scatter);
  }
  /// Whether the caller may choose between one buffer and two. broadcast has one, the others listed have two.
  bool has_places() const {
    return !is(Operation::broadcast) && !is(Operation::all_to_all) && !is(Operation::send_recv) &&
           !is(Operation::barrier);
  }
  /// Whether the input, or the output, has a part for each rank.
  bool spreads_in() const {
    return is(Operation::reduce_scatter) || is(Operation::scatter) || is(Operation::all_to_all);
  }
  bool spreads_out() const { return is(Operation::all_gather) || is(Operation::gather) || is(Operation::all_to_all); }
  bool spreads() const { return spreads_in() || spreads_out(); }
  /// Whether `rank` has an input, or a result.
  bool has_in(int rank) const {
    if (is(Operation::barrier)) return false;
    return (!is(Operation::broadcast) && !is(Operation::scatter)) || rank == root;
  }
  bool has_out(int rank) const {
    if (is(Operation::barrier)) return false;
    return (!is(Operation::reduce) && !is(Operation::gather)) || rank == root;
  }
  std::size_t in_count() const { return spreads_in() ? count * static_cast<std::size_t>(ranks) : count; }
  std::size_t out_count() const { return spreads_out() ? count * static_cast<std::size_t>(ranks) : count; }
  /// Calls of send_recv go there and back: one message takes half of it.
  double time_scale() const { return operation == Operation::send_recv ? 0.5 : 1.0; }
};

/// The fewest bytes that are something to do: one element, or one for each rank.
std::size_t least_bytes(const Case& shape);

/// `shape` with bytes and count set: as much of `bytes` as makes whole elements, and where each rank has a part, parts
/// of the same number. The count is 0 if `bytes` is too small.
Case case_of(std::size_t bytes, Case shape);

}  // namespace tutti::bench
