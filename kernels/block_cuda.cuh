// The GPU's block: the threads of one CUDA block.
//
// Lane p speaks for peer p: it alone reads and moves the bases of the connections with p, sets flags at p and polls the
// flags that p sets. Memory order, word by word (ptx.cuh says what the accesses mean):
//   signal   block barrier, then lane p's st.release.sys of the flag. The barrier puts all earlier accesses of all
//            threads before the release. Pairs with the acquire in the peer's wait.
//   wait     lane p polls with ld.relaxed.sys, then one ld.acquire.sys of the same flag, then a block barrier: what
//            came before the peer's release comes before all that any thread here does afterwards.
//   enter    the same with the Entry beside the flag: lane p writes the peer's line, then releases its count; lane p of
//            the peer acquires the count, then reads the line. Lines alternate between two halves; a half is written
//            again only after the peer entered the call between, so had read it. No barrier comes before the release:
//            it publishes the line, not what other threads did before, so `enter` must be a kernel's first word.
//   packets  relaxed on both sides: data and tag are one word, so a tag seen is data seen, and nothing else is ordered.
//            That a half may be used again rests on the ends of kernels: see packets_cuda.cuh. Wiping is strong too.
//   switch   multimem accesses are relaxed; flags order them as they order payload, and a fence between the two proxies
//            stands at both ends of a word that makes them.
//   boards   relaxed on both sides. `failed` ends waits; the rest only makes messages better.
// Calls of a communicator are one after the other, also on different streams: each waits for the event behind the one
// before (cudaStreamWaitEvent). All accesses of a kernel come before all of the next, which is how bases, uses, tables
// and the halves of packets pass from call to call.
#pragma once
#include "kernels/block.hpp"
#include "kernels/failure_cuda.hpp"
#include "kernels/multicast_cuda.cuh"
#include "kernels/packets_cuda.cuh"

namespace tutti {

class CudaBlock : public Connections {
 public:
  /// All arguments live as long as the block (they are parameters of the kernel).
  TUTTI_KERNEL CudaBlock(const Team& team, const Call& call, const Reports& reports, int index, int count)
      : Connections(team, index, count), call_(call), reports_(reports) {
    if (index == 0 && threadIdx.x == 0 && call.number != 0) say(call);
  }

  TUTTI_KERNEL bool failed() const { return failed_; }

  /// Memory onto itself is left alone: other threads may be reading it for put_packets.
  TUTTI_KERNEL void copy(View to, const void* from, std::size_t bytes) {
    const bool moves = to.count != 1 || to.first != from;
    if (!failed_ && bytes != 0 && moves) device::copy(to, static_cast<const char*>(from), bytes);
  }
  TUTTI_KERNEL void reduce(View to, View from, std::size_t n, Reduction reduction) {
    if (!failed_ && n != 0) device::reduce(to, from, n, reduction);
  }

  TUTTI_KERNEL void copy(Multicast to, const void* from, std::size_t bytes) {
    if (!failed_) device::copy_by_switch(to.address, static_cast<const char*>(from), bytes);
  }
  TUTTI_KERNEL void reduce(Multicast to, Multicast from, std::size_t n, Reduction reduction) {
    if (!failed_)
      device::reduce_by_switch(from.address, n * size_of(reduction.type), reduction,
                               [&](std::size_t at, auto unit) { device::store_to_switch(to.address + at, unit); });
  }
  TUTTI_KERNEL void reduce(View to, Multicast from, std::size_t n, Reduction reduction) {
    if (!failed_)
      device::reduce_by_switch(from.address, n * size_of(reduction.type), reduction,
                               [&](std::size_t at, auto unit) { device::store_unit(to.first + at, unit); });
  }

  TUTTI_KERNEL void signal(Flags to, Count count) {
    if (failed_) return;
    __syncthreads();
    for_each(to.peer, [&](int peer) {
      const std::uint64_t base = sent_base({to.purpose, peer});
      ptx::store_release_sys(&flag(peer, to.purpose, rank())->count, base + static_cast<std::uint64_t>(count));
    });
  }

  TUTTI_KERNEL void wait(Flags from, Count count) {
    if (failed_) return;
    bool given_up = false;
    for_each(from.peer, [&](int peer) {
      const std::uint64_t base = received_base({from.purpose, peer});
      given_up |= !await(&flag(rank(), from.purpose, peer)->count, base, count, from.purpose, peer);
    });
    failed_ = __syncthreads_or(given_up);
  }

  TUTTI_KERNEL void advance_sent(Flags to, Count count) {
    if (failed_) return;
    __syncthreads();
    for_each(to.peer, [&](int peer) { sent_base({to.purpose, peer}) += static_cast<std::uint64_t>(count); });
  }
  TUTTI_KERNEL void advance_received(Flags from, Count count) {
    if (failed_) return;
    __syncthreads();
    for_each(from.peer, [&](int peer) { received_base({from.purpose, peer}) += static_cast<std::uint64_t>(count); });
  }
  TUTTI_KERNEL void advance_uses(Region region, Count count) {
    if (failed_) return;
    __syncthreads();
    if (threadIdx.x == 0) uses(region) += static_cast<std::uint64_t>(count);
  }

  /// On a GPU every rank pushes where it can: stores to peers need no way back, and nobody agrees to pull.
  TUTTI_KERNEL Memory enter(const Call& call, Reach reach, Reach = Reach::nothing) {
    if (failed_) return Memory::failed;
    for_each(kAll, [&](int peer) {
      const std::uint64_t number = sent_base({Purpose::enter, peer}) + 1;
      Entry* const there = entry(peer, number, rank());
      write(there, call, call.in_place);
      ptx::store_release_sys(&there->count, number);  // pairs with the acquire in the peer's await
    });
    bool given_up = false, mapped = true, multicast = true;
    if (const int peer = lane(); peer < size()) {
      Place in = call.in_place, out = call.out_place;
      if (peer != rank()) {
        const std::uint64_t base = received_base({Purpose::enter, peer});
        Entry* const here = entry(rank(), base + 1, peer);
        given_up = !await(&here->count, base, 1, Purpose::enter, peer) ||
                   !same_call(here, call, ptx::load_8(&here->number), peer);
        if (!given_up) in.bits = ptx::load_8(&here->in), out.bits = ptx::load_8(&here->out);
      }
      mapped = reachable(reach, in, out, peer, call.peer);
      multicast = multicast_reachable(reach, call, in, out);
      if (!given_up) given_up = !fill_tables(call, reach, in, out, peer);
    }
    failed_ = __syncthreads_or(given_up);
    if (failed_) return Memory::failed;
    for_each(kAll, [&](int peer) {
      ++sent_base({Purpose::enter, peer});
      ++received_base({Purpose::enter, peer});
    });
    // Every rank sees the same entries, so all come to the same verdict.
    if (asks_multicast(reach) && __syncthreads_and(mapped && multicast)) return Memory::multicast;
    return __syncthreads_and(mapped) ? Memory::peer_mapped : Memory::staged;
  }

  TUTTI_KERNEL void leave() {
    constexpr Flags all{Purpose::leave, kAll};
    signal(all, 1);
    wait(all, 1);
    advance_sent(all, 1);
    advance_received(all, 1);
  }

  TUTTI_KERNEL void put_packets(const Call& call, const char* in, std::size_t n, std::size_t stride, int to) {
    if (failed_) return;
    const std::uint64_t use = uses(Region::packets);
    device::put_words(in, {n, call.element()}, stride, to, size(), rank(), packet_tag(use),
                      [&](int peer) { return packets(peer, use, rank()); });
  }

  TUTTI_KERNEL void get_packets(const Call& call, char* out, std::size_t n, std::size_t stride, int from) {
    if (failed_) return;
    Arrivals arrivals(*this);
    end_poll(arrivals, device::get_words(out, {n, call.element()}, stride, from, size(), rank(), arrivals));
  }

  TUTTI_KERNEL void reduce_packets(const Call& call, char* out, const char* in, std::size_t n) {
    if (failed_) return;
    Arrivals arrivals(*this);
    int missing = -1;
    device::dispatch_loop(call.reduction, [&](auto loop, std::uint32_t flip) {
      missing =
          device::reduce_words<decltype(loop)>(out, in, n, {call.reduction.divisor, flip}, size(), rank(), arrivals);
    });
    end_poll(arrivals, missing);
  }

  /// Clears the tags of this rank's packets, between two `leave`s, before tags repeat. The second `leave` orders it
  /// before the peers' next packets.
  TUTTI_KERNEL void wipe_packets() {
    if (failed_) return;
    char* const begin = packets(rank(), 0, 0);
    const std::size_t bytes = 2 * static_cast<std::size_t>(size()) * team().layout.packet_stride();
    for (std::size_t i = threadIdx.x * 8; i < bytes; i += blockDim.x * 8) ptx::store_packet(begin + i, 0);
  }

  /// One lane writes; the barrier and release of the next signal publish it.
  TUTTI_KERNEL void offer(Header* header, const Call& call, Place place) {
    if (failed_ || threadIdx.x != 0) return;
    ptx::store_8(&header->place, place.bits);
    ptx::store_8(&header->elements, call.count);
    ptx::store_8(&header->description, call.description);
  }

  /// Reads what a wait has acquired, so every thread comes to the same verdict.
  TUTTI_KERNEL Offer accept(Header* header, const Call& call) {
    if (failed_) return {};
    failed_ = !same_call(header, call, call.number, call.peer);
    if (failed_) return {};
    const Place place{ptx::load_8(&header->place)};
    if (!place.mapped()) return {Memory::staged, nullptr};
    char* const there = resolve(place, call.peer);
    if (!there) report(WaitFailure::unmapped, static_cast<std::uint64_t>(Purpose::p2p_data), call.peer, 0, 0);
    failed_ = !there;
    return failed_ ? Offer{} : Offer{Memory::peer_mapped, there};
  }

  TUTTI_KERNEL void sync() { __syncthreads(); }

 private:
  /// What a long wait watches beside its flag.
  class Patience {
   public:
    /// Counts a poll; now and then looks at the clock and at who has failed.
    TUTTI_KERNEL WaitFailure spent(const CudaBlock& block, int peer) {
      if (++polls_ % kPollsBetweenLooks != 0) return WaitFailure::none;
      if (ptx::load_relaxed_sys(&block.board(block.rank())->failed) != 0) return WaitFailure::failed_here;
      if (ptx::load_relaxed_sys(&block.board(peer)->failed) != 0) return WaitFailure::peer_failed;
      const std::uint64_t now = ptx::global_timer();
      if (start_ == 0) start_ = now;
      if (now - start_ >= block.reports_.timeout_ns) return WaitFailure::timeout;
      if (polls_ >= kPollsBeforeNaps) ptx::nanosleep(kNapNs);
      return WaitFailure::none;
    }

   private:
    // A poll of the own memory takes about 0.3 us: a look each 20 us, naps after a millisecond. Estimates, not
    // measured.
    static constexpr std::uint32_t kPollsBetweenLooks = 64;
    static constexpr std::uint32_t kPollsBeforeNaps = 4096;
    static constexpr std::uint32_t kNapNs = 500;
    std::uint32_t polls_ = 0;
    std::uint64_t start_ = 0;
  };

  /// The peer that this thread speaks for, if there is one (a block has at least kMaxRanks threads).
  TUTTI_KERNEL static int lane() { return static_cast<int>(threadIdx.x); }

  /// Runs f(peer) on the lane of that peer, or on those of all peers.
  template <class F>
  TUTTI_KERNEL void for_each(int peer, F f) const {
    if (peer == kAll ? lane() < size() && lane() != rank() : lane() == peer) f(lane());
  }

  /// Polls until the flag has reached `count`, counted from `base`, then acquires it. False, with a report, if there is
  /// no point in waiting.
  TUTTI_KERNEL bool await(const std::uint64_t* flag, std::uint64_t base, Count count, Purpose purpose, int peer) {
    // Counts never wrap; `wanted` may lie before 0 in a communicator's first calls.
    const std::uint64_t wanted = base + static_cast<std::uint64_t>(count);
    Patience patience;
    for (std::uint64_t seen = ptx::load_relaxed_sys(flag); static_cast<Count>(seen - wanted) < 0;
         seen = ptx::load_relaxed_sys(flag)) {
      const WaitFailure why = patience.spent(*this, peer);
      if (why == WaitFailure::none) continue;
      report(why, static_cast<std::uint64_t>(purpose), peer, static_cast<std::uint64_t>(count), seen - base);
      return false;
    }
    ptx::load_acquire_sys(flag);  // pairs with store_release_sys in the peer's signal or enter
    return true;
  }

  /// The packets of this use as they come.
  class Arrivals {
   public:
    TUTTI_KERNEL explicit Arrivals(const CudaBlock& block)
        : block_(block), use_(block.uses(Region::packets)), tag_(packet_tag(use_)) {}
    TUTTI_KERNEL std::uint32_t tag() const { return tag_; }
    TUTTI_KERNEL const char* from(int peer) const { return block_.packets(block_.rank(), use_, peer); }
    /// Whether to poll the packets of `peer` once more.
    TUTTI_KERNEL bool again(int peer) {
      why_ = patience_.spent(block_, peer);
      return why_ == WaitFailure::none;
    }
    TUTTI_KERNEL WaitFailure why_not() const { return why_; }

   private:
    const CudaBlock& block_;
    std::uint64_t use_;
    std::uint32_t tag_;
    WaitFailure why_ = WaitFailure::none;
    Patience patience_;
  };
  /// `missing`: the peer whose packets did not come, or -1.
  TUTTI_KERNEL void end_poll(const Arrivals& arrivals, int missing) {
    if (missing >= 0) report(arrivals.why_not(), kPacketPurpose, missing, 1, 0);
    failed_ = __syncthreads_or(missing >= 0);
  }

  TUTTI_KERNEL static void write(Entry* entry, const Call& call, Place in) {
    ptx::store_8(&entry->description, call.description);
    ptx::store_8(&entry->elements, call.count);
    ptx::store_8(&entry->number, call.number);
    ptx::store_8(&entry->in, in.bits);
    ptx::store_8(&entry->out, call.out_place.bits);
  }

  /// Compares an acquired entry, or header, of the peer's call `number` with the own call; a difference is reported.
  template <class Line>
  TUTTI_KERNEL bool same_call(const Line* theirs, const Call& call, std::uint64_t number, int peer) {
    const std::uint64_t description = ptx::load_8(&theirs->description), elements = ptx::load_8(&theirs->elements);
    if (description == call.description && elements == call.count) return true;
    const std::uint64_t purpose = static_cast<std::uint64_t>(Purpose::enter);
    report(WaitFailure::mismatch, purpose, peer, 0, 0, number, description, elements);
    return false;
  }

  /// Enters a rank's buffers into the block's tables; false, with a report, if one is mapped no more.
  TUTTI_KERNEL bool fill_tables(const Call& call, Reach reach, Place in, Place out, int peer) {
    const bool own = peer == rank();
    if (reads_in(reach, peer, call.peer) && in.mapped()) {
      char* const place = own ? const_cast<char*>(call.in) : resolve(in, peer);
      in_table()[peer] = place;
      if (!place) return unmapped(peer);
    }
    if (writes_out(reach, peer, call.peer) && out.mapped()) {
      char* const place = own ? call.out : resolve(out, peer);
      out_table()[peer] = place;
      if (!place) return unmapped(peer);
    }
    return true;
  }
  TUTTI_KERNEL bool unmapped(int peer) {
    report(WaitFailure::unmapped, static_cast<std::uint64_t>(Purpose::enter), peer, 0, 0);
    return false;
  }

  /// What this rank is doing, for peers that wait long.
  TUTTI_KERNEL void say(const Call& call) {
    Board* const own = board(rank());
    ptx::store_relaxed_sys(&own->number, call.number);
    ptx::store_relaxed_sys(&own->description, call.description);
    ptx::store_relaxed_sys(&own->elements, call.count);
  }

  /// Fails this rank's communicator: its blocks and its peers poll the board. Several lanes may report the same end.
  TUTTI_KERNEL void report(WaitFailure why, std::uint64_t purpose, int peer, std::uint64_t wanted, std::uint64_t seen) {
    Board* const theirs = board(peer);
    report(why, purpose, peer, wanted, seen, ptx::load_relaxed_sys(&theirs->number),
           ptx::load_relaxed_sys(&theirs->description), ptx::load_relaxed_sys(&theirs->elements));
  }
  TUTTI_KERNEL void report(WaitFailure why, std::uint64_t purpose, int peer, std::uint64_t wanted, std::uint64_t seen,
                           std::uint64_t their_number, Description their_description, std::uint64_t their_elements) {
    ptx::store_relaxed_sys(&board(rank())->failed, 1);
    FailureRecord* const record = reports_.records + index() * size() + peer;
    ptx::store_relaxed_sys(&record->purpose, purpose);
    ptx::store_relaxed_sys(&record->wanted, wanted);
    ptx::store_relaxed_sys(&record->seen, seen);
    ptx::store_relaxed_sys(&record->number, call_.number);
    ptx::store_relaxed_sys(&record->description, call_.description);
    ptx::store_relaxed_sys(&record->elements, call_.count);
    ptx::store_relaxed_sys(&record->their_number, their_number);
    ptx::store_relaxed_sys(&record->their_description, their_description);
    ptx::store_relaxed_sys(&record->their_elements, their_elements);
    // The host reads it after the stream's end, or from a later call once it sees `failed`.
    ptx::store_release_sys(&record->kind, static_cast<std::uint64_t>(why));
    ptx::store_release_sys(reports_.failed, 1);
  }

  const Call& call_;
  const Reports& reports_;
  bool failed_ = false;  ///< the same in all threads
};
static_assert(Block<CudaBlock>);

}  // namespace tutti
