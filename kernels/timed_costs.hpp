// What words cost in virtual time. The model, for every machine:
//
// - A block does one word after the other. A port of a rank (out, in), the link of a pair if it has one of its own, and
//   a rank's memory are queues that serve in the order of arrival: a booking at time t ends bytes / rate after t, or
//   after the booking before it if that is later. A word sends all its bytes through all that they cross at once; it
//   ends when the last of these queues, and its block at its own rate, are done with them.
// - A flag takes `flag` from its store until its reader can see it, whatever else is under way: flags wait in no queue.
// - A wait ends `wait` after its flags could be seen, or after it began if they could be seen before.
// - GPUs (timed_gpu.hpp): stores to peers are posted: the word ends when its block has issued them, and the next signal
//   waits until they have arrived and for `fence` more. Loads from peers take `load` once a word. Lanes set flags, and
//   look at them, all at once.
// - A switch that reduces or replicates has a port of each rank's: what it reduces leaves the ports of all ranks and
//   enters one, what it replicates leaves one and enters all, both at the rate `multicast` of a port.
// - CPUs (timed_cpu.hpp): a word ends when its bytes have moved, flags are set and looked at one after the other, and
//   ranks that share a core take turns: one goes on until it waits for what has not come, then the next begins.
//
// Not modelled: what a GPU's caches do, translation of addresses, what else the machine does,
// clocks that change, and that neighbours on a switch may disturb one another.
#pragma once
#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "kernels/timed.hpp"

namespace tutti::timed {

/// A block as it moves bytes.
struct Mover {
  int rank = 0;
  int block = 0;
  const Launch* launch = nullptr;
};

/// What a word reads or writes at one place.
struct Part {
  const void* at = nullptr;
  int owner = 0;      ///< whose memory
  bool slot = false;  ///< of an arena: both ends of a connection touch it
  double bytes = 0;
  bool by_switch = false;  ///< one of the places that a switch reduces, or replicates to, all at once
};

/// When a word ends, and when the last of the bytes that it stores at peers are there.
struct Moved {
  double end = 0;
  double arrived = 0;
};

/// Something that moves one byte after the other, for whoever comes first. A rate of 0: no limit.
class Queue {
 public:
  explicit Queue(double rate = 0) : rate_(rate) {}
  /// When `bytes` that come at `now` are through.
  double book(double now, double bytes) {
    if (rate_ <= 0) return now;
    return free_ = std::max(free_, now) + bytes / rate_;
  }

 private:
  double rate_;
  double free_ = 0;
};

/// What joins the ranks of a machine.
class Wires {
 public:
  explicit Wires(const Machine& machine);
  /// When `bytes` that leave `from` at `now` have come to `to`, another rank.
  double cross(int from, int to, double now, double bytes);
  /// When `bytes` that leave `from` at `now`, to be reduced or replicated, have come to the switch.
  double into_switch(int from, double now, double bytes) {
    return out_[shared_ ? 0 : static_cast<std::size_t>(from)].book(now, bytes * through_switch_);
  }
  /// When `bytes` that leave the switch at `now` have come to `to`.
  double out_of_switch(int to, double now, double bytes) {
    return shared_ ? now : in_[static_cast<std::size_t>(to)].book(now, bytes * through_switch_);
  }
  /// When `bytes` are read from the memory of `rank`, or written to it.
  double touch(int rank, double now, double bytes);

 private:
  std::size_t ranks_;
  bool shared_;
  double through_switch_ = 1;  ///< time of a byte that the switch reduces or replicates: of so many others
  std::vector<Queue> out_, in_, pairs_, memory_;
};

class Costs {
 public:
  explicit Costs(const Machine& machine) : machine_(machine), wires_(machine) {}
  virtual ~Costs() = default;

  /// copy and reduce: reads all of `from`, writes all of `to`.
  virtual Moved move(const Mover& mover, double now, std::span<const Part> from, std::span<const Part> to) = 0;
  /// When the first flag of a signal is stored; what the block stored before will have arrived at `posted`. Each
  /// further flag of the word follows after each_flag().
  virtual double signal(const Mover& mover, double now, double posted) = 0;
  /// Stores `bytes` in the packets of `to`, or of all; nothing in the others'. `seen`[p] becomes when rank p can see
  /// its.
  /// `from` and `lines`: where it loads what rank p gets, and where it stores that; of this rank none.
  virtual Moved put_packets(const Mover& mover, double now, double bytes, int to, std::span<const Part> from,
                            std::span<const Part> lines, std::span<double> seen) = 0;
  /// When it has `bytes` of the packets of `from`, or of all, and knows that the others' are empty; `seen` as above. If
  /// `adds`, its own part comes to them.
  virtual double get_packets(const Mover& mover, double now, double bytes, int from, std::span<const Part> lines,
                             std::span<const Part> to, std::span<const double> seen, bool adds) = 0;
  /// Whether packets are given their places; else `from`, `lines` and `to` are empty.
  virtual bool knows_places() const { return false; }
  /// When the rank's program, outside of calls, has read or written there itself.
  virtual double use(int rank, double now, const Part& part, bool writes) {
    (void)rank, (void)part, (void)writes;
    return now;
  }

  double each_flag() const { return machine_.each_flag; }
  /// From the store of a flag until its reader sees it.
  double flag() const { return machine_.flag; }
  /// Of a wait whose flags have come.
  double wait() const { return machine_.wait; }
  const Machine& machine() const { return machine_; }

 protected:
  Machine machine_;
  Wires wires_;
};

std::unique_ptr<Costs> costs_of(const Machine& machine);

}  // namespace tutti::timed
