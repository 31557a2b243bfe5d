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
  int root = 0;           ///< of a broadcast
  bool in_place = false;  ///< never for broadcast, send_recv and barrier, which have no such choice
  std::size_t bytes = 0;  ///< the size column: what is really used, after trimming
  std::size_t count = 0;  ///< elements per rank, as the call takes them

  bool reduces() const { return operation == Operation::all_reduce || operation == Operation::reduce_scatter; }
  std::size_t in_count() const { return operation == Operation::reduce_scatter ? count * ranks : count; }
  std::size_t out_count() const { return operation == Operation::all_gather ? count * ranks : count; }
  /// Calls of send_recv go there and back: one message takes half of it.
  double time_scale() const { return operation == Operation::send_recv ? 0.5 : 1.0; }
};

/// The fewest bytes that are something to do: one element, for reduce_scatter and all_gather one for each rank.
std::size_t least_bytes(const Case& shape);

/// `shape` with bytes and count set: as much of `bytes` as makes whole elements, for reduce_scatter and all_gather the
/// same number for each rank. The count is 0 if `bytes` is too small.
Case case_of(std::size_t bytes, Case shape);

}  // namespace tutti::bench
