// The CPU's block: one thread, or one fiber of the thread that drives a rank.
//
// Memory order: every flag, packet tag and entry is a std::atomic_ref store with release, loaded with acquire; x86
// needs one more fence, after streaming stores (`publish`). Payloads are ordinary memory between the two.
#pragma once
#include <atomic>
#include <chrono>
#include <cstring>

#include "kernels/block.hpp"
#include "kernels/host_loops.hpp"
#include "kernels/nearness.hpp"

namespace tutti {

namespace host {
/// Tells the core that this thread polls.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}
}  // namespace host

/// How a host block waits. `pause` hands the core on: to another block of this rank, or to another process.
struct Waiting {
  int spins = 2000;  ///< polls before the first pause
  void (*pause)(void* context) = nullptr;
  void* context = nullptr;
  std::chrono::nanoseconds timeout = std::chrono::minutes(10);
  bool announced = true;  ///< whether the board says already which call this is
};

/// Where stores of some length go: through the cache, or past it.
struct StorePolicy {
  host::Stores buffers = host::Stores::cached;  ///< this rank's memory: past the cache if the call exceeds the cache
  host::Stores shared = host::Stores::cached;   ///< slots and peers' buffers: past it if the peers are far
  Nearness* nearness = nullptr;                 ///< told how long arrivals take; may be null
};

/// Why a block failed, for the message.
struct Failure {
  enum class Kind { none, timeout, mismatch, peer_failed, unmapped };
  Kind kind = Kind::none;
  Purpose purpose = Purpose::data;
  bool packet = false;
  int peer = -1;
  Count wanted = 0;  ///< relative to the call, as seen
  Count seen = 0;
  std::uint64_t absent = 0;    ///< timeout: one bit for each rank that the wait was for and that did not come
  Description theirs = 0;      ///< mismatch: what the peer called
  std::uint64_t elements = 0;  ///< and with how many elements
  std::uint64_t number = 0;    ///< the peer's call number
};

/// Writes on this rank's board that `call` has begun, for peers that wait long.
void announce(const Team& team, const Call& call);

/// What `rank`'s board says now; its owner may be writing it.
Board seen_board(const Connections& arenas, int rank);

class HostBlock : public Connections {
 public:
  HostBlock(const Team& team, const Call& call, int index, int count, const Waiting& waiting, const StorePolicy& stores)
      : Connections(team, index, count), call_(call), waiting_(waiting), stores_(stores), loops_(host::loops()) {}

  const Failure& failure() const { return failure_; }

  void copy(View to, const void* from, std::size_t bytes) {
    if (failed() || bytes == 0) return;
    if (bytes <= Header::kShort && to.count == 1 && !to.table) {
      std::memmove(to.first, from, bytes);
      return;
    }
    char* places[kMaxRanks];
    const host::Stores stores = gather(to, places, bytes);
    loops_.copy(places, to.count, static_cast<const char*>(from), bytes, stores);
  }

  void reduce(View to, View from, std::size_t n, const Reduction& reduction) {
    if (failed() || n == 0) return;
    char* places[kMaxRanks];
    char* sources[kMaxRanks];
    const host::Stores stores = gather(to, places, n * size_of(reduction.type));
    for (int i = 0; i < from.count; ++i) sources[i] = from.at(i);
    loops_.reduce(places, to.count, sources, from.count, n, reduction, stores);
  }

  void signal(Flags to, Count count) {
    if (failed()) return;
    publish();
    for_each(to.peer, [&](int peer) {
      const std::uint64_t base = sent_base({to.purpose, peer});
      std::uint64_t& there =
          to.purpose == Purpose::p2p_data ? slot_at(peer, count - 1)->count : flag(peer, to.purpose, rank())->count;
      store(there, base + static_cast<std::uint64_t>(count));
    });
  }

  void wait(Flags from, Count count) {
    for_each(from.peer, [&](int peer) {
      if (failed()) return;
      const std::uint64_t base = received_base({from.purpose, peer});
      const std::uint64_t wanted = base + static_cast<std::uint64_t>(count);
      std::uint64_t& seen = here({from.purpose, peer}, count);
      // A peer's line is far away: a credit that came with an earlier one is not fetched again.
      std::uint64_t& known = seen_count({from.purpose, peer});
      // Counts never wrap; `wanted` may lie before 0 in a communicator's first calls.
      const auto ready = [&] { return static_cast<Count>((known = load(seen)) - wanted) >= 0; };
      if (static_cast<Count>(known - wanted) >= 0 || poll(ready, peer)) return;
      const auto is_absent = [&](int p) {
        const std::uint64_t theirs = received_base({from.purpose, p}) + static_cast<std::uint64_t>(count);
        return static_cast<Count>(load(here({from.purpose, p}, count)) - theirs) < 0;
      };
      fail_at(from.purpose, peer, count, static_cast<Count>(load(seen) - base),
              from.peer == kAll ? absent(is_absent) : std::uint64_t{1} << peer);
    });
  }

  void advance_sent(Flags to, Count count) {
    if (failed()) return;
    for_each(to.peer, [&](int peer) { sent_base({to.purpose, peer}) += static_cast<std::uint64_t>(count); });
  }
  void advance_received(Flags from, Count count) {
    if (failed()) return;
    for_each(from.peer, [&](int peer) { received_base({from.purpose, peer}) += static_cast<std::uint64_t>(count); });
  }
  void advance_uses(Region region, Count count) {
    if (!failed()) uses(region) += static_cast<std::uint64_t>(count);
  }

  Memory enter(const Call& call, Reach reach, Reach pulling = Reach::nothing);

  void leave() {
    signal({Purpose::leave, kAll}, 1);
    wait({Purpose::leave, kAll}, 1);
    advance_sent({Purpose::leave, kAll}, 1);
    advance_received({Purpose::leave, kAll}, 1);
  }

  void put_packets(const Call& call, const char* in, std::size_t n, std::size_t stride, int to) {
    if (failed()) return;
    assert(count() <= geometry().packet_blocks && n * call.element() <= geometry().packet_bytes);
    publish();
    const std::uint64_t use = uses(Region::packets);
    const std::uint64_t tag = tag_of(call, use);
    for_each(kAll, [&](int peer) {
      const std::size_t bytes = to == kAll || to == peer ? n * call.element() : 0;
      char* const line = packets(peer, use, rank());
      if (bytes > 0)  // `in` may be null if not
        std::memcpy(payload_of(line, bytes), in + static_cast<std::size_t>(peer) * stride, bytes);
      store(tag_in(line), tag);
    });
  }

  void get_packets(const Call& call, char* out, std::size_t n, std::size_t stride, int from) {
    if (failed()) return;
    const std::uint64_t use = uses(Region::packets);
    const std::size_t bytes = n * call.element();
    for_each(kAll, [&](int peer) {
      char* const line = arrived(call, use, peer);
      if (line && bytes > 0 && (from == kAll || from == peer))
        std::memcpy(out + static_cast<std::size_t>(peer) * stride, payload_of(line, bytes), bytes);
    });
  }

  void reduce_packets(const Call& call, char* out, const char* in, std::size_t n) {
    if (failed()) return;
    const std::uint64_t use = uses(Region::packets);
    const std::size_t bytes = n * call.element();
    char* sources[kMaxRanks];
    sources[rank()] = const_cast<char*>(in);
    for_each(kAll, [&](int peer) {
      if (char* const line = arrived(call, use, peer)) sources[peer] = payload_of(line, bytes);
    });
    if (failed() || n == 0) return;
    loops_.reduce(&out, 1, sources, size(), n, call.reduction, host::Stores::cached);
  }

  /// Clears the tags of this rank's packets, between two `leave`s, before tags repeat.
  void wipe_packets() {
    if (failed()) return;
    publish();
    for (std::uint64_t half = 0; half < 2; ++half)
      for (int peer = 0; peer < size(); ++peer) store(tag_in(packets(rank(), half, peer)), 0);
  }

  void offer(Header* header, const Call& call, Place place) {
    if (failed()) return;
    header->place = place;
    header->elements = call.count;
    header->description = call.description;
  }

  Offer accept(Header* header, const Call& call) {
    if (failed()) return {};
    if (header->description != call.description || header->elements != call.count) {
      fail_mismatch(call.peer, header->description, header->elements, call.number);
      return {};
    }
    if (!header->place.mapped()) return {Memory::staged, nullptr};
    char* const there = resolve(header->place, call.peer);
    if (!there) {
      fail({.kind = Failure::Kind::unmapped, .peer = call.peer});
      return {};
    }
    met_ = there;
    return {Memory::peer_mapped, there};
  }

  void sync() {}

  /// Says on this rank's board which call it is in, while what it has sent is under way; for a call's only block, whose
  /// launch has not said it.
  void announce_once() {
    if (waiting_.announced) return;
    waiting_.announced = true;
    announce(team(), call_);
  }

 private:
  /// Polls without a rest in between, about as long as a line takes from a far core: a rest takes 20 ns on Zen 4.
  static constexpr int kEagerPolls = 200;
  static constexpr std::size_t kLeastStreamed = 4096;  ///< shorter stores stay in the cache: streaming 2 KiB cost 1.3x

  static std::uint64_t load(std::uint64_t& word) { return std::atomic_ref(word).load(std::memory_order_acquire); }
  static void store(std::uint64_t& word, std::uint64_t value) {
    std::atomic_ref(word).store(value, std::memory_order_release);
  }

  template <class F>
  void for_each(int peer, F f) {
    if (peer != kAll) return f(peer);
    for (int p = 0; p < size(); ++p)
      if (p != rank()) f(p);
  }

  /// What a rank polls for signal `count` of a connection: of a message's data, the line that it comes in.
  std::uint64_t& here(Flags from, Count count) const {
    return from.purpose == Purpose::p2p_data ? slot_from(from.peer, count - 1)->count
                                             : flag(rank(), from.purpose, from.peer)->count;
  }

  /// The places of a view, and how to store `bytes` to each: slots may stand in any arena.
  host::Stores gather(const View& view, char** places, std::size_t bytes) {
    for (int i = 0; i < view.count; ++i) places[i] = view.at(i);
    if (bytes < kLeastStreamed) return host::Stores::cached;
    const char* const last = places[view.count - 1];  // the one that is not this rank's, if one is not
    const bool shared = is_slot(last) || view.table != nullptr || is_of_a_peer(last);
    const host::Stores stores = shared ? stores_.shared : stores_.buffers;
    streamed_ |= stores == host::Stores::streaming;
    return stores;
  }
  bool is_slot(const char* place) const {
    for (int r = 0; r < size(); ++r)
      if (place >= arena(r) && place < arena(r) + team().layout.bytes) return true;
    return false;
  }

  /// Where a message by packets has its bytes.
  static char* payload_of(char* line, std::size_t bytes) { return bytes <= kPacketLine ? line : line + kLine; }

  /// Waits for the packets of `peer`, and compares what they say of its call; null if they did not come.
  char* arrived(const Call& call, std::uint64_t use, int peer) {
    if (failed()) return nullptr;
    const std::uint64_t tag = tag_of(call, use);
    char* const line = packets(rank(), use, peer);
    const auto has_come = [&](int p) {
      return static_cast<std::uint32_t>(load(tag_in(packets(rank(), use, p)))) == static_cast<std::uint32_t>(tag);
    };
    if (!poll([&] { return has_come(peer); }, peer)) {
      failure_.packet = true;
      fail_at(Purpose::data, peer, 1, 0, absent([&](int p) { return !has_come(p); }));
      return nullptr;
    }
    if (load(tag_in(line)) != tag) fail_mismatch(peer);
    return failed() ? nullptr : line;
  }

  /// Whether a place is in the `out` of a peer: each holds count elements, or so many of every rank.
  bool is_of_a_peer(const char* place) const {
    const std::size_t bytes = call_.count * call_.element(), most = bytes * static_cast<std::size_t>(size());
    if (met_ && place >= met_ && place < met_ + bytes) return true;
    if (!writes_peers_) return false;
    for (int r = 0; r < size(); ++r)
      if (const char* const out = out_of(r); r != rank() && out && place >= out && place < out + most) return true;
    return false;
  }

  /// Whether this call tells how far its peers are: a look costs the clock's time twice.
  bool times_lines(const Call& call) const {
    return stores_.nearness && index() == 0 && call.count * call.element() >= kLeastStreamed;
  }
  /// Looks at a word that a peer may have written, and if it has, takes the time for a sample.
  template <class Ready>
  void time_look(std::uint64_t& word, Ready ready) {
    const auto before = std::chrono::steady_clock::now();
    if (ready(load(word)))
      stores_.nearness->sample(static_cast<std::uint64_t>((std::chrono::steady_clock::now() - before).count()));
  }
  void say_how_far() {
    std::atomic_ref(board(rank())->line_ns).store(stores_.nearness->typical_ns(), std::memory_order_relaxed);
  }

  /// Streaming stores are weakly ordered on x86: fence them before anything is published.
  void publish() {
    if (streamed_) host::fence_streams();
    streamed_ = false;
  }

  bool failed() const { return failure_.kind != Failure::Kind::none; }
  void fail(const Failure& failure) {
    const bool packet = failure_.packet;
    failure_ = failure;
    failure_.packet |= packet;
    store(board(rank())->failed, 1);
  }
  void fail_mismatch(int peer, Description theirs, std::uint64_t elements, std::uint64_t number) {
    fail({.kind = Failure::Kind::mismatch, .peer = peer, .theirs = theirs, .elements = elements, .number = number});
  }
  void fail_mismatch(int peer) {
    const Board theirs = seen_board(*this, peer);
    fail_mismatch(peer, theirs.description, theirs.elements, theirs.number);
  }
  /// `absent`: of all that the wait is for, in case it ran out.
  void fail_at(Purpose purpose, int peer, Count wanted, Count seen, std::uint64_t absent);

  /// The peers of which f is true, one bit each.
  template <class F>
  std::uint64_t absent(F f) {
    static_assert(kMaxRanks <= 64);
    std::uint64_t ranks = 0;
    for_each(kAll, [&](int peer) { ranks |= std::uint64_t{f(peer)} << peer; });
    return ranks;
  }

  /// Polls until `ready`, pausing after a while; false if the wait ran out, or the peer failed or called something
  /// else.
  template <class Ready>
  bool poll(Ready ready, int peer) {
    if (ready()) return true;
    announce_once();
    for (int i = 0; i < waiting_.spins; ++i) {
      if (ready()) return true;
      if (i >= kEagerPolls) host::relax();
    }
    LateWait late(*this, peer);
    while (!ready()) {
      waiting_.pause(waiting_.context);
      if (late.over()) return false;
    }
    return true;
  }

  /// What a long wait watches besides its flag.
  class LateWait {
   public:
    LateWait(HostBlock& block, int peer) : block_(block), peer_(peer) {}
    /// True if there is no point in waiting on; the block has then failed.
    bool over();

   private:
    bool called_something_else(const Board& theirs) const;

    HostBlock& block_;
    int peer_;
    int pauses_ = 0;
    bool suspected_ = false;
    std::chrono::steady_clock::time_point start_{};
  };

  const Call& call_;
  Waiting waiting_;
  StorePolicy stores_;
  const host::Loops& loops_;
  bool streamed_ = false;
  bool writes_peers_ = false;  ///< in this call, whose tables are filled
  const char* met_ = nullptr;  ///< the buffer at the other end of a message, if it is mapped
  Failure failure_;
};

}  // namespace tutti
