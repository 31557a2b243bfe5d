// The state of a world in virtual time, between its ranks' programs and their blocks' words.
#pragma once
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "kernels/timed_costs.hpp"
#include "kernels/timed_flags.hpp"
#include "kernels/timed_places.hpp"
#include "kernels/timed_strands.hpp"

namespace tutti::timed {

/// What crossed from one rank to another.
class Traffic {
 public:
  explicit Traffic(int ranks);
  void payload(int from, int to, double bytes) { payload_[at(from, to)] += bytes; }
  void more(int from, int to, double bytes) { more_[at(from, to)] += bytes; }
  /// To every peer.
  void more_to_all(int from, double bytes) { to_all_[static_cast<std::size_t>(from)] += bytes; }
  /// Payload that leaves a rank for the switch to reduce or replicate, and that comes to it from there.
  void into_switch(int rank, double bytes) { into_switch_[static_cast<std::size_t>(rank)] += bytes; }
  void out_of_switch(int rank, double bytes) { out_of_switch_[static_cast<std::size_t>(rank)] += bytes; }
  double sent_to_switch(int rank) const { return into_switch_[static_cast<std::size_t>(rank)]; }
  double received_from_switch(int rank) const { return out_of_switch_[static_cast<std::size_t>(rank)]; }
  double payload_of(int from, int to) const { return payload_[at(from, to)]; }
  double all_of(int from, int to) const {
    return from == to ? 0 : payload_[at(from, to)] + more_[at(from, to)] + to_all_[static_cast<std::size_t>(from)];
  }

 private:
  struct Free {
    void operator()(double* at) const { std::free(at); }
  };
  using Pairs = std::unique_ptr<double[], Free>;  // zeros that cost nothing until they are touched

  std::size_t at(int from, int to) const {
    return static_cast<std::size_t>(from) * ranks_ + static_cast<std::size_t>(to);
  }
  static Pairs zeros(std::size_t many);

  std::size_t ranks_;
  Pairs payload_, more_;
  std::vector<double> to_all_, into_switch_, out_of_switch_;
};

/// One block's part of it, handed in when the block has ended, or needs room for another peer: the counts of thousands
/// of ranks are in no cache.
class Account {
 public:
  Account(Traffic& traffic, int rank) : traffic_(traffic), rank_(rank) {}
  ~Account() {
    for (const Entry& entry : entries_) hand_in(entry);
  }
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;
  /// From this rank to `peer`: payload, and what goes with it.
  void sent(int peer, double payload, double more) {
    Entry& entry = of(peer);
    entry.sent += payload;
    entry.more += more;
  }
  /// From `peer` to this rank.
  void received(int peer, double payload) { of(peer).received += payload; }

 private:
  struct Entry {
    int peer = -1;
    double sent = 0, more = 0, received = 0;
  };
  Entry& of(int peer) {
    Entry& entry = entries_[static_cast<std::size_t>(peer) % std::size(entries_)];
    if (entry.peer == peer) return entry;
    hand_in(entry);
    return entry = {.peer = peer};
  }
  void hand_in(const Entry& entry) {
    if (entry.peer < 0) return;
    if (entry.sent > 0) traffic_.payload(rank_, entry.peer, entry.sent);
    if (entry.received > 0) traffic_.payload(entry.peer, rank_, entry.received);
    if (entry.more > 0) traffic_.more(rank_, entry.peer, entry.more);
  }

  Traffic& traffic_;
  int rank_;
  Entry entries_[8];
};

class Simulation {
 public:
  Simulation(const Machine& machine, const Geometry& geometry, Backing backing);

  void run(const std::function<void(Rank&)>& program, World& world);
  // What a rank's program does.
  void call(int rank, std::span<const Launch> launches);
  void meet(int rank);
  void use(int rank, const void* at, std::size_t bytes, bool writes);
  double now(int rank) { return program(rank).clock; }

  int ranks() const { return places.layout().geometry.ranks; }
  /// Round `number` of the exchange for `purpose` (enter or leave) of all ranks' block `block`.
  Exchange& exchange(Purpose purpose, int block, std::uint64_t number);
  /// Of the packets that the rank's block gets in a use of this half: [sender].
  std::span<Arrival> arrivals(int block, std::uint64_t use, int receiver);
  /// Who waits for packets there.
  std::uint32_t& packets_waiter(int block, int receiver) {
    return packets_waiters_[static_cast<std::size_t>(block) * static_cast<std::size_t>(ranks()) +
                            static_cast<std::size_t>(receiver)];
  }
  const std::span<const Launch>& launches(int rank) const { return launches_[static_cast<std::size_t>(rank)]; }
  std::string text_of(const Strand& strand) const;

  Scheduler scheduler;
  Places places;
  std::unique_ptr<Costs> costs;
  Pasts pasts;
  Traffic traffic;
  Backing backing;
  Trace* trace = nullptr;

  // Used by one word at a time.
  std::vector<Part> from, to;
  std::vector<double> seen;

 private:
  Strand& program(int rank) { return scheduler.strand(static_cast<std::uint32_t>(rank)); }
  Strand& block_strand(int rank, std::size_t number);
  std::string text_of(const Waiting& waiting, const Strand& strand) const;
  [[noreturn]] void deadlock();

  struct Pending {
    int blocks = 0;
    double end = 0;
  };
  std::vector<std::vector<Strand*>> blocks_;  // [rank], as many as it ever launched at once
  std::vector<Pending> pending_;              // [rank]
  std::vector<std::span<const Launch>> launches_;
  int met_ = 0;
  double meeting_ = 0;
  std::vector<Exchange> exchanges_;             // [enter, leave][block][half]
  std::vector<std::vector<Arrival>> arrivals_;  // [block][half], of all pairs once used
  std::vector<std::uint32_t> packets_waiters_;
};

}  // namespace tutti::timed
