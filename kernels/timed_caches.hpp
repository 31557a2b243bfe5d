// Where the lines of memory are on a machine of CPUs, and what a core's loads and stores of them take.
//
// A cache is known by its clock: the bytes that came into it so far. What came in, or was used, at most its size ago is
// still there; beyond that less and less is. So a buffer's history is a few ranges, each with its clock at every core
// that has it, however large the buffer is.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "kernels/machine.hpp"

namespace tutti::timed {

/// Bytes at an address.
struct Bytes {
  const void* at = nullptr;
  std::size_t size = 0;
};

class Caches {
 public:
  explicit Caches(const Machine& machine) : machine_(machine) {}

  /// What a word takes.
  struct Work {
    double ns = 0;      ///< of the core, if it has the memory for itself
    double memory = 0;  ///< bytes that go to memory or come from there
    double bytes = 0;   ///< loaded and stored
  };
  /// `core` loads all of `from` and stores all of `to`, past the caches or through them; afterwards lines are where
  /// that leaves them.
  Work move(int core, std::span<const Bytes> from, std::span<const Bytes> to, bool streaming);

 private:
  /// A core that has loaded or stored a range: the clocks of its own caches and of its last-level cache when it did so.
  struct Holder {
    int core = 0;
    double own = 0, last = 0;
  };
  struct Range {
    std::uintptr_t begin = 0;
    std::vector<Holder> holders;
  };
  /// How much of a range each kind of place has, as parts of 1.
  struct Found {
    double own = 0, peer = 0, last = 0, memory = 0;
  };
  using Ranges = std::map<std::uintptr_t, Range>;  // by end

  template <class F>
  void each_range(Bytes bytes, F f);
  void split(std::uintptr_t at);
  double share(double clock, double at, double size) const;
  Found find(const Range& range, int core) const;
  void load(int core, Bytes bytes, double peer_rate, Work& work, bool& far);
  void store(int core, Bytes bytes, bool streaming, Work& work, bool& far);
  void take(Range& range, int core, double bytes, const Found& found);
  double& clock_of(std::vector<double>& clocks, int index);
  double clock_at(const std::vector<double>& clocks, int index) const;
  int last_of(int core) const { return machine_.last_caches > 0 ? core % machine_.last_caches : 0; }

  Machine machine_;
  Ranges ranges_;
  std::vector<double> own_;   // [core] the clock of its own caches
  std::vector<double> last_;  // [last-level cache]
};

}  // namespace tutti::timed
