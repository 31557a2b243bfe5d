// What goes into a measured call, and whether what came out is right.
#pragma once
#include <cstddef>
#include <cstdint>

#include "bench/buffers.hpp"
#include "bench/host_access.hpp"
#include "bench/pattern.hpp"

namespace tutti::bench {

/// Calls of one case by one contender, one after the other.
struct Batch {
  long calls = 1;
  std::size_t turn = 0;   ///< the calls before the first one; chooses what the inputs hold
  bool together = false;  ///< the calls follow one another, prepared and checked within the measured time
  bool steady = false;    ///< buffers are left alone
};

/// One rank's side of one case.
class Trial {
 public:
  /// `access` outlives the trial.
  Trial(const Case& c, int rank, HostAccess& access);
  const Case& shape() const { return case_; }

  /// Fills the input, if this rank has one, with its element `index`. Cheap: for use inside timed loops.
  void prepare(const Buffers& buffers, std::size_t index) const;
  /// Reads all of the result, if this rank gets one, of a call that was prepared with `index`; how many elements are
  /// wrong.
  std::uint64_t check(const Buffers& buffers, std::size_t index) const;

  /// The same with a value of its own for every element, and with junk where the result will be.
  void prepare_distinct(const Buffers& buffers) const;
  /// Counts as wrong as well: elements of an input that is not the result's buffer and has changed, and elements of an
  /// output buffer that have changed where this rank gets no result.
  std::uint64_t check_distinct(const Buffers& buffers) const;

 private:
  std::size_t in_bytes() const { return case_.in_count() * size_of(case_.type); }
  std::size_t out_bytes() const { return case_.out_count() * size_of(case_.type); }
  bool gets_result() const { return case_.has_out(rank_) && source_ < case_.ranks; }

  Case case_;
  int rank_;
  int source_;  ///< whose input becomes the result, where that is one rank's
  HostAccess& access_;
  Pattern pattern_;
};

}  // namespace tutti::bench
