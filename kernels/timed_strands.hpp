// Who goes on next in virtual time: strands with a clock each, the earliest first.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <source_location>
#include <vector>

#include "kernels/connection.hpp"
#include "kernels/fiber.hpp"
#include "kernels/timed.hpp"

namespace tutti::timed {

/// What a parked strand waits for, for reports.
struct Waiting {
  enum class Kind : std::uint8_t { nothing, flag, exchange, packets, blocks, meeting };
  Kind kind = Kind::nothing;
  Flags from = data(kAll);  // of a flag: its sender
  std::uint64_t wanted = 0, base = 0;
  const std::uint64_t* seen = nullptr;
  std::source_location where;
};

/// A rank's program, or a block of a call that it launched.
struct Strand {
  double clock = 0;
  double posted = 0;  // when its last stores to peers arrive; 0: a signal has waited for them
  int steps = 0;      // the longest chain of messages of this call that it has heard the end of
  int rank = 0;
  int block = -1;  // the program
  int number = 0;
  int core = -1;  // that it shares; none
  bool parked = false;
  bool holds_core = false;
  bool done = true;
  std::unique_ptr<Fiber> fiber;
  Waiting waiting;
  const Launch* launch = nullptr;
  double ready = 0;  // since when it waits for its core
  std::function<void()> job;
};

class Scheduler {
 public:
  /// `cores` that strands with a core share: one goes on until it parks or ends, the next follows after `handover` if
  /// it is of another rank.
  Scheduler(int cores, double handover) : cores_(static_cast<std::size_t>(cores)), handover_(handover) {}
  ~Scheduler();

  Strand& add(int rank, int block);
  /// The strand, which is done, does `job` from `at` on.
  void start(Strand& strand, double at, std::function<void()> job);
  /// Until nobody can go on.
  void run();
  std::deque<Strand>& strands() { return strands_; }
  Strand& strand(std::uint32_t number) { return strands_[number]; }

  // From inside `me`.
  /// Lets those go first whose clocks are behind.
  void take_turn(Strand& me) {
    if (waiting_.empty() || waiting_.front().time >= me.clock) return;
    push(me, me.clock);
    Fiber::yield();
  }
  /// Until somebody wakes it.
  void park(Strand& me);
  /// Goes on at `at`, or at its own clock if that is later.
  void wake(Strand& strand, double at);

 private:
  struct Turn {
    double time;
    std::uint64_t order;  // first come, first served
    Strand* strand;
    bool operator<(const Turn& other) const {  // heaps have the greatest on top
      return time > other.time || (time == other.time && order > other.order);
    }
  };
  struct Core {
    Strand* holder = nullptr;
    double free = 0;
    int last_rank = -1;
    std::deque<Strand*> queue;
  };

  void push(Strand& strand, double time);
  bool may_go_on(Strand& strand, double time);
  void release_core(Strand& strand);

  std::deque<Strand> strands_;
  std::vector<Turn> waiting_;  // a heap
  std::uint64_t order_ = 0;
  std::vector<Core> cores_;
  double handover_;
};

}  // namespace tutti::timed
