// Near or far: which stores pay depends on whether the ranks' cores share a cache.
#pragma once
#include <cstdint>

namespace tutti {

/// Whether the cores of the ranks share a cache, estimated from how long an arrival takes: on one machine these were
/// 50 to 70 ns near and 160 to 210 ns far for the last to arrive, and virtual machines change between the two by
/// themselves. Far, a store to a line that the other core has cached costs several times a streaming store; near it is
/// the other way round.
class Nearness {
 public:
  explicit Nearness(int ranks) : limit_ns_(110 + 30 * static_cast<std::uint64_t>(ranks > 2 ? ranks - 2 : 0)) {}
  void sample(std::uint64_t ns) {
    recent_[next_++ % kWindow] = ns;
    least_ns_ = ~std::uint64_t{0};
    for (const std::uint64_t one : recent_) least_ns_ = one < least_ns_ ? one : least_ns_;
  }
  /// The least of the last samples: whoever arrives last finds the others there, and measures the way of a line.
  std::uint64_t least_ns() const { return least_ns_; }
  bool far(std::uint64_t least_of_all_ns) const { return least_of_all_ns > limit_ns_; }

 private:
  static constexpr int kWindow = 16;
  std::uint64_t limit_ns_;
  std::uint64_t recent_[kWindow] = {};
  std::uint64_t least_ns_ = 0;
  unsigned next_ = 0;
};

}  // namespace tutti
