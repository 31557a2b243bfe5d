// The block in virtual time: does what each word says, if there is data to do it with, and reckons when it ends.
#pragma once
#include <source_location>

#include "kernels/block.hpp"
#include "kernels/timed_simulation.hpp"

namespace tutti {

class TimedBlock : public Connections {
 public:
  using Source = std::source_location;

  /// From inside the strand's fiber.
  TimedBlock(timed::Simulation& simulation, timed::Strand& strand)
      : Connections(simulation.places.team(strand.rank), strand.block, strand.launch->blocks),
        sim_(simulation),
        me_(strand),
        mover_{strand.rank, strand.block, strand.launch},
        account_(simulation.traffic, strand.rank) {}

  // Each word knows where in its kernel it stands.
  void copy(View to, const void* from, std::size_t bytes, Source at = Source::current());
  void reduce(View to, View from, std::size_t n, const Reduction& reduction, Source at = Source::current());
  void copy(Multicast to, const void* from, std::size_t bytes, Source at = Source::current());
  void reduce(Multicast to, Multicast from, std::size_t n, const Reduction& reduction, Source at = Source::current());
  void reduce(View to, Multicast from, std::size_t n, const Reduction& reduction, Source at = Source::current());
  Memory enter(const Call& call, Reach pushing, Source at = Source::current());
  Memory enter(const Call& call, Reach pushing, Reach pulling, Source at = Source::current());
  void leave(Source at = Source::current());
  void signal(Flags to, Count count, Source at = Source::current());
  void wait(Flags from, Count count, Source at = Source::current());
  void advance_sent(Flags to, Count count) {
    for_each(to.peer, [&](int peer) { sent_base({to.purpose, peer}) += static_cast<std::uint64_t>(count); });
  }
  void advance_received(Flags from, Count count) {
    for_each(from.peer, [&](int peer) { received_base({from.purpose, peer}) += static_cast<std::uint64_t>(count); });
  }
  void advance_uses(Region region, Count count) { uses(region) += static_cast<std::uint64_t>(count); }
  void put_packets(const Call& call, const char* in, std::size_t n, std::size_t stride, int to,
                   Source at = Source::current());
  void get_packets(const Call& call, char* out, std::size_t n, std::size_t stride, int from,
                   Source at = Source::current());
  void reduce_packets(const Call& call, char* out, const char* in, std::size_t n, Source at = Source::current());
  void wipe_packets(Source at = Source::current());
  void offer(Header* header, const Call& call, Place place, Source at = Source::current());
  Offer accept(Header* header, const Call& call, Source at = Source::current());
  void sync() {}

  double now() const { return me_.clock; }

 private:
  template <class F>
  void for_each(int peer, F f) {
    if (peer != kAll) return f(peer);
    for (int p = 0; p < size(); ++p)
      if (p != rank()) f(p);
  }

  static constexpr double kFlagBytes = sizeof(std::uint64_t);

  static void add_up(const std::vector<char*>& to, const std::vector<const char*>& from, std::size_t n,
                     const Reduction& reduction);
  timed::Part part(const void* at, std::size_t bytes) const;
  /// Through whom a word reaches the places it reads, and those it writes.
  struct Through {
    bool switch_in = false;
    bool switch_out = false;
  };
  /// Moves what stands in sim_.from and sim_.to, as the views say.
  void move(model::Word word, View to, View from, std::size_t bytes, Through through, Source at);
  void copy_now(View to, const void* from, std::size_t bytes, Through through, Source at);
  void reduce_now(View to, View from, std::size_t n, const Reduction& reduction, Through through, Source at);
  double signal_stored();
  void exchange(model::Word word, const Call* call, Source at);
  Memory resolve_tables(const Call& call, const Agreement& agreement, timed::Exchange& entered);
  double come(timed::Exchange& all, const timed::Strand& who) const;
  void await(timed::FlagPast& flag, Flags from, std::uint64_t wanted, std::uint64_t base, Source at);
  void await_packets(const Call& call, Source at);
  timed::Event* record(model::Word word, double begin, Source at, std::size_t bytes = 0);
  timed::At place(const void* at, bool written) const;
  void fail(const char* what, int peer) const;

  timed::Simulation& sim_;
  timed::Strand& me_;
  timed::Mover mover_;
  timed::Account account_;
};

}  // namespace tutti
