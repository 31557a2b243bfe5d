// The executor in virtual time: all ranks in one thread, each block a fiber, on a described machine. It runs the very
// kernels and reckons when each word would end: ports and memories are queues that serve in the order of arrival.
#pragma once
#include <functional>
#include <memory>
#include <span>

#include "kernels/kernels.hpp"
#include "kernels/machine.hpp"
#include "kernels/trace.hpp"

namespace tutti {
class TimedBlock;
}
namespace tutti::timed {

/// A kernel that one rank launches.
struct Launch {
  Kernel kernel = Kernel::barrier;
  Call call{};
  int blocks = 1;
  double buffers = 0;  ///< CPUs: bytes of all ranks' buffers, by which the library chooses how to store
  std::function<void(TimedBlock&, const Call&)> body{};  ///< instead of the kernel's, if there is one
};

class Simulation;
class World;

/// One rank's program.
class Rank {
 public:
  Rank(World& world, int rank) : world_(world), rank_(rank) {}
  int rank() const { return rank_; }
  /// Launches them together and returns when all their blocks have ended.
  void call(std::span<const Launch> launches);
  /// Returns when every rank is here, all at the same time: a benchmark's barrier that costs nothing.
  void meet();
  /// The program itself reads, or writes, `bytes` at `at`.
  void read(const void* at, std::size_t bytes);
  void write(const void* at, std::size_t bytes);
  double now() const;

 private:
  World& world_;
  int rank_;
};

/// Whether buffers hold data. Arenas always do: flags, headers and counts are real.
enum class Backing {
  none,  ///< buffers are addresses only, so that thousands of ranks with gigabytes each fit
  real,  ///< words really copy and add
};

class World {
 public:
  World(const Machine& machine, const Geometry& geometry, Backing backing);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  const Geometry& geometry() const;
  /// Memory of `rank` that its peers do not reach.
  char* allocate(int rank, std::size_t bytes);
  /// Memory on every rank that all reach; its number.
  int allocate_segment(std::size_t bytes);
  char* segment(int number, int rank) const;
  /// Where the peers find `at`: nowhere if it is in no segment.
  Place place_of(const void* at) const;

  /// Writes every word into `trace`, which outlives `run`. Before `run`.
  void record(Trace* trace);
  /// Runs `program` on every rank until all have ended; once per world. Throws std::logic_error, naming who waits for
  /// what, if none can go on.
  void run(const std::function<void(Rank&)>& program);

  /// Bytes of payload that crossed from one rank's memory to another's, whoever moved them.
  double payload_bytes(int from, int to) const;
  /// Bytes of payload that left a rank's memory for a switch to reduce or replicate, and that came to it from there.
  double sent_to_switch(int rank) const;
  double received_from_switch(int rank) const;
  /// The same as they cross, with what packets carry beside their payload, and flags.
  double wire_bytes(int from, int to) const;

 private:
  friend class Rank;
  std::unique_ptr<Simulation> simulation_;
};

}  // namespace tutti::timed
