// Inputs whose results are exact, so that every contender's output can be compared bit for bit.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/types.hpp"

namespace tutti::bench {

/// Values of every rank for every index, and what they reduce to. All are small integers, chosen so that any order of
/// reducing gives the same bits in every type; they repeat after a prime number of elements, so that a misplaced
/// chunk shows.
class Pattern {
 public:
  static constexpr std::size_t kPeriod = 1009;

  Pattern(DataType type, ReduceOp op, int ranks);

  /// Writes rank's elements first .. first + count to `data`.
  void fill_input(void* data, std::size_t count, int rank, std::size_t first) const;
  /// How many of count elements at `data` differ from rank's elements first .. first + count.
  std::uint64_t wrong_inputs(const void* data, std::size_t count, int rank, std::size_t first) const;
  /// The same for the reduction over all ranks.
  std::uint64_t wrong_results(const void* data, std::size_t count, std::size_t first) const;

  /// Writes rank's element `index` to all of `data`. Cheap: for use inside timed loops.
  void fill_constant(void* data, std::size_t count, int rank, std::size_t index) const;
  /// Reads all of `data`; how many elements differ from rank's element `index`.
  std::uint64_t wrong_constants(const void* data, std::size_t count, int rank, std::size_t index) const;
  /// Reads all of `data`; how many elements differ from the reduction of every rank's element `index`.
  std::uint64_t wrong_constant_results(const void* data, std::size_t count, std::size_t index) const;

 private:
  using Table = std::vector<std::byte>;
  DataType type_;
  std::size_t size_;
  std::vector<Table> inputs_;  // per rank, one period
  Table results_;
};

}  // namespace tutti::bench
