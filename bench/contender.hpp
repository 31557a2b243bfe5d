// Who takes part in a measurement.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "bench/buffers.hpp"
#include "bench/trial.hpp"
#include "collectives/tutti.hpp"

namespace tutti::bench {

/// What a call costs by the formula of its kernel; zeros where there is none.
struct CallCost {
  int steps = 0;          ///< the longest chain of messages
  double wire_bytes = 0;  ///< the most that one rank sends or receives
};

/// Processes of their own, with memory of their own, that run what they are told. All members are collective.
class Elsewhere {
 public:
  struct Result {
    double seconds = 0;       ///< of a call, on the slowest rank
    std::uint64_t wrong = 0;  ///< elements, on all ranks
  };
  virtual ~Elsewhere() = default;
  /// Why it cannot run `c`; empty if it can. It has then been verified once: `wrong` tells how many elements were
  /// wrong.
  virtual std::string refusal(const Case& c, std::uint64_t* wrong) = 0;
  virtual Result run(const Case& c, const Batch& batch) = 0;
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
  /// The library's name and version, if it is not one of this program's.
  virtual std::string version() const { return ""; }
  /// The algorithm that runs `c`.
  virtual std::string algorithm(const Case& c) const = 0;
  virtual CallCost cost(const Case&) const { return {}; }
  /// Runs `c` once, to its end. Throws tutti::Error on all ranks alike, before anything is changed, if it cannot.
  virtual void run(const Case& c, const Buffers& buffers) = 0;
  /// How many calls `run` makes of one, for clocks that cannot be put between them.
  virtual int calls_in_a_run() const { return 1; }
  /// Where it runs, if not in this process and on the lane's buffers; `run` is then not called.
  virtual Elsewhere* elsewhere() { return nullptr; }
};

/// A backend of tutti, through its public interface. `communicator` must outlive it. `stream`: of the calls, which then
/// only enqueue; null: they run to their end.
std::unique_ptr<Contender> tutti_contender(Communicator& communicator, Algorithm algorithm, void* stream = nullptr);

/// The same on a GPU, with `calls` calls captured into one CUDA graph, which each run launches and waits for. Not for
/// reductions in place, which would reduce again what they have reduced. Throws tutti::Error without CUDA.
std::unique_ptr<Contender> graph_contender(Communicator& communicator, Algorithm algorithm, int calls);

}  // namespace tutti::bench
