// Who takes part in a measurement.
#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include "bench/sizes.hpp"
#include "collectives/tutti.hpp"

namespace tutti::bench {

/// What one call works on; both null for a barrier. in == out, or one inside the other, for a call in place.
struct Buffers {
  std::byte* in = nullptr;
  std::byte* out = nullptr;
};

/// What a call costs by the formula of its kernel; zeros where there is none.
struct CallCost {
  int steps = 0;          ///< the longest chain of messages
  double wire_bytes = 0;  ///< the most that one rank sends or receives
};

/// Something that can run the collectives. Every rank has its own object; members are called by all ranks alike.
class Contender {
 public:
  virtual ~Contender() = default;
  /// The key of this contender in ratios; contenders of one backend are not compared with each other.
  virtual std::string backend() const = 0;
  /// The algorithm that was asked for ("auto": the backend chooses).
  virtual std::string asked_algorithm() const = 0;
  /// Whether that algorithm exists for this operation at all, at some size.
  virtual bool plays(Operation) const { return true; }
  /// The algorithm that runs `c`.
  virtual std::string algorithm(const Case& c) const = 0;
  virtual CallCost cost(const Case&) const { return {}; }
  /// Runs `c` once, to its end. Throws tutti::Error on all ranks alike, before anything is changed, if it cannot.
  virtual void run(const Case& c, const Buffers& buffers) = 0;
};

/// A backend of tutti, through its public interface. `communicator` must outlive it.
std::unique_ptr<Contender> tutti_contender(Communicator& communicator, Algorithm algorithm);

}  // namespace tutti::bench
