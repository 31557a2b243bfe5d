// The protocol's state: what stands in each rank's arena, and who writes it.
//
// A connection = (communicator, block, sender, receiver, purpose). Its flag stands in the receiver's arena, on a line
// of its own, has one writer (that block of the sender) and holds the count of signals on the connection since
// creation; it is never reset. Each end keeps its own base, the count at the start of the running call, in its own
// arena: `sent` at the sender, `received` at the receiver. Words take counts relative to the base. A kernel advances
// the bases of the connections it used once, at its end, by the same amount at both ends.
//
// A use of a slot is credited by its reader on the reverse connection. Before use k of a call (k = 0, 1, ...) a writer
// waits for credit k + 1 - slots. Why that is enough: collectives that use slots begin with `enter`, after which every
// peer has left its earlier calls, so all slots are free, and within the call use k waits for use k - slots. For the
// same reason a call may cut the region into slots of its own size (cut_slots), and inbox and outbox, of which no call
// uses both, are one region. Messages have no `enter`; there each use of a slot is one signal and one credit of the
// same connection, and credits come in order, so credit k + 1 - slots, which may belong to an earlier call, is the one
// of the slot's former use. Ends that meet use two: see p2p.hpp.
#pragma once
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "kernels/types.hpp"
#include "kernels/views.hpp"

namespace tutti {

inline constexpr int kMaxRanks = 64;
inline constexpr int kMaxBlocks = 32;
inline constexpr int kMaxSegments = 1024;
inline constexpr std::size_t kLine =
    128;  ///< flags are this far apart: two x86 lines (prefetch in pairs), one GPU line
/// Where the 8-byte tag stands in the line of a message by packets: up to so many bytes of payload stand before it,
/// longer payloads after the line. CUDA has a tag in each 8-byte packet instead.
inline constexpr std::size_t kPacketLine = 56;

enum class Purpose : std::uint8_t {
  data,        ///< slot k of this call, of an inbox or outbox, is filled, or a part of the reader's `out`
  credit,      ///< slot k of this call has been read
  enter,       ///< the rank has entered its call; the line beside the flag says which
  leave,       ///< the rank touches its peers' buffers no more
  p2p_data,    ///< send/recv's own data
  p2p_credit,  ///< send/recv's own credit
};
inline constexpr int kPurposes = 6;

/// One peer, or all of them but this rank.
inline constexpr int kAll = -1;
/// None of them: where a word may take one rank or all.
inline constexpr int kNobody = -2;

/// Part `index` of `of` parts of every slot of an inbox: senders that write one inbox in the same call each have a lane
/// of their own.
struct Lane {
  int index = 0;
  int of = 1;
};

/// The flags that a signal sets, or a wait polls.
struct Flags {
  Purpose purpose;
  int peer;
};
TUTTI_HD Flags data(int peer) { return {Purpose::data, peer}; }
TUTTI_HD Flags credit(int peer) { return {Purpose::credit, peer}; }
TUTTI_HD Flags p2p_data(int peer) { return {Purpose::p2p_data, peer}; }
TUTTI_HD Flags p2p_credit(int peer) { return {Purpose::p2p_credit, peer}; }

using Count = std::int64_t;

struct alignas(kLine) Flag {
  std::uint64_t count;
};

/// Where a buffer stands for the peers: segment and offset, or nowhere.
struct Place {
  std::uint64_t bits = 0;  ///< 0: not mapped; else (segment + 1) << 48 | offset
  TUTTI_HD bool mapped() const { return bits != 0; }
  TUTTI_HD int segment() const { return static_cast<int>(bits >> 48) - 1; }
  TUTTI_HD std::size_t offset() const { return bits & ((std::uint64_t{1} << 48) - 1); }
};
TUTTI_HD Place place(int segment, std::size_t offset) {
  return {(static_cast<std::uint64_t>(segment) + 1) << 48 | offset};
}

/// What all ranks must agree on, in one word: collective, algorithm, type, op, root, blocks (see describe()).
using Description = std::uint64_t;
TUTTI_HD Description describe(int collective, int algorithm, DataType type, ReduceOp op, int root, int blocks) {
  return static_cast<std::uint64_t>(collective) | static_cast<std::uint64_t>(algorithm) << 8 |
         static_cast<std::uint64_t>(type) << 16 | static_cast<std::uint64_t>(op) << 24 |
         static_cast<std::uint64_t>(root + 1) << 32 | static_cast<std::uint64_t>(blocks) << 48;
}

/// What a rank publishes when it enters a call.
struct alignas(kLine) Entry {
  std::uint64_t count;  ///< the flag: written last, released
  Description description;
  std::uint64_t elements;
  std::uint64_t number;  ///< the rank's call number, for the text of a mismatch only
  Place in;
  Place out;
  std::uint64_t pulls;  ///< whether the rank would rather read its peers' memory than write it
};

/// The line before a message slot's data: what it is of, and, if it is short, the data too. It is half a line of a GPU
/// and one of a CPU, which so fetches all of a short message at once: there `count` is the flag of p2p_data.
struct alignas(kLine) Header {
  static constexpr std::size_t kShort = 32;
  char data[kShort];
  Place place;  ///< of the buffer of who wrote it, if the ends meet: see p2p.hpp
  std::uint64_t elements;
  Description description;
  std::uint64_t count;  ///< CPU: of the use of the slot; written last, released

  /// Where `bytes` of data stand.
  TUTTI_HD char* data_of(std::size_t bytes) { return bytes <= kShort ? data : reinterpret_cast<char*>(this + 1); }
};
static_assert(offsetof(Header, count) == 56);

/// Regions whose slots are counted by uses, not by a connection.
enum class Region : std::uint8_t { packets, outbox };
inline constexpr int kRegions = 2;

/// What a rank is doing, written by it at the start of a call and when it fails; read by peers that have waited long,
/// to tell a late peer from one that called something else: it may end a wait as failed, and vouches for no data.
struct alignas(kLine) Board {
  std::uint64_t failed;  ///< not 0: this rank's communicator has failed
  std::uint64_t number;  ///< of the collective it is in, or was in last
  Description description;
  std::uint64_t elements;
  std::uint64_t line_ns;  ///< CPU: how long a line takes to this rank, 0 if unknown; steers store policies only
};

/// What a communicator's arenas have room for; equal on all ranks.
struct Geometry {
  int ranks = 1;
  int blocks = 1;                  ///< the most blocks of a call; inbox and outbox are cut into so many parts
  int packet_blocks = 1;           ///< the most of a call by packets
  int message_blocks = 1;          ///< the most of a send or receive
  int slots = 4;                   ///< of the inbox, which is the outbox too; 3 at least: see two_shot_all_reduce
  std::size_t slot_bytes = 0;      ///< of one slot of one block; a multiple of kLine
  bool cut = false;                ///< whether calls cut them to their size: see Connections::cut_slots
  int p2p_slots = 4;               ///< slots per sender; 2 at least
  std::size_t p2p_slot_bytes = 0;  ///< data of one, its header beside it; a multiple of kLine
  bool both_copy = false;          ///< whether both ends of a message copy, if they can: two cores copy more than one
  std::size_t packet_bytes = 0;    ///< the largest message by packets, per block; CUDA doubles it on the wire
};

/// Where everything stands in an arena, the same on every rank. Bases, uses and tables are read and written by the
/// owner alone; flags, entries, slots and packets are written by the peer that the layout names.
struct Layout {
  Geometry geometry;
  std::size_t board = 0;     ///< Board
  std::size_t flags = 0;     ///< [purpose][block][sender] Flag
  std::size_t entries = 0;   ///< [half][block][sender] Entry
  std::size_t sent = 0;      ///< [purpose][block][receiver] count
  std::size_t received = 0;  ///< [purpose][block][sender] count
  std::size_t seen = 0;      ///< [purpose][block][sender] count: the latest that the owner has read, CPU only
  std::size_t uses = 0;      ///< [region][block] count
  std::size_t arenas = 0;    ///< [rank] where that rank's arena is mapped here
  std::size_t members = 0;   ///< [rank] its column in the table of segments: its rank in the session
  std::size_t in = 0;        ///< [block][rank] the peers' buffers of the running call, filled by `enter`
  std::size_t out = 0;
  std::size_t packets = 0;      ///< [block][half][sender] one line, then data
  std::size_t slots = 0;        ///< [block][slot], as inbox: written by one peer, or cut into lanes for several
                                ///< as outbox: written by the owner, read by all
  std::size_t invitations = 0;  ///< [block][receiver] Header: of messages from here
  std::size_t p2p = 0;          ///< [block][sender][slot] Header, then data
  std::size_t bytes = 0;

  TUTTI_HD std::size_t packet_stride() const { return kLine + 2 * geometry.packet_bytes; }
  TUTTI_HD std::size_t p2p_stride() const { return sizeof(Header) + geometry.p2p_slot_bytes; }
};

/// The least k with 2^k >= n.
TUTTI_HD constexpr int ceil_log2(int n) {
  int k = 0;
  while ((1 << k) < n) ++k;
  return k;
}
/// A slot holds a line for each rank, in each of the lanes that the kernels of most lanes need (halving_doubling,
/// gather along a tree: one for each power of two, and one more).
TUTTI_HD constexpr std::size_t least_slot_bytes(int ranks) {
  const int lanes = ceil_log2(ranks) + 1;
  return kLine * static_cast<std::size_t>(ranks) * static_cast<std::size_t>(lanes < 3 ? 3 : lanes);
}

inline Layout layout_of(const Geometry& g) {
  assert(g.packet_blocks <= g.blocks && g.message_blocks <= g.blocks);
  assert(g.slots >= 3 && g.p2p_slots >= 2 && g.p2p_slot_bytes % kLine == 0 &&
         g.slot_bytes >= least_slot_bytes(g.ranks));
  Layout l{.geometry = g};
  std::size_t at = 0;
  const auto take = [&at](std::size_t bytes, std::size_t alignment) {
    const std::size_t begin = ceil_div(at, alignment) * alignment;
    at = begin + bytes;
    return begin;
  };
  const std::size_t pairs = static_cast<std::size_t>(g.blocks) * static_cast<std::size_t>(g.ranks);
  const auto blocks = static_cast<std::size_t>(g.blocks);
  const auto slots = static_cast<std::size_t>(g.slots);
  constexpr std::size_t kPage = 4096;
  l.board = take(sizeof(Board), kLine);
  l.flags = take(kPurposes * pairs * sizeof(Flag), kLine);
  l.entries = take(2 * pairs * sizeof(Entry), kLine);
  l.sent = take(kPurposes * pairs * sizeof(std::uint64_t), kLine);
  l.received = take(kPurposes * pairs * sizeof(std::uint64_t), kLine);
  l.seen = take(kPurposes * pairs * sizeof(std::uint64_t), kLine);
  l.uses = take(kRegions * blocks * sizeof(std::uint64_t), kLine);
  l.arenas = take(static_cast<std::size_t>(g.ranks) * sizeof(char*), kLine);
  l.members = take(static_cast<std::size_t>(g.ranks) * sizeof(int), kLine);
  l.in = take(pairs * sizeof(char*), kLine);
  l.out = take(pairs * sizeof(char*), kLine);
  const auto pairs_of = [&g](int some) { return static_cast<std::size_t>(some) * static_cast<std::size_t>(g.ranks); };
  l.packets = take(2 * pairs_of(g.packet_blocks) * l.packet_stride(), kPage);
  l.slots = take(blocks * slots * g.slot_bytes, kPage);
  l.invitations = take(pairs_of(g.message_blocks) * sizeof(Header), kLine);
  l.p2p = take(pairs_of(g.message_blocks) * static_cast<std::size_t>(g.p2p_slots) * l.p2p_stride(), kPage);
  l.bytes = ceil_div(at, kPage) * kPage;
  return l;
}

/// One rank's part in a communicator, as its kernels see it.
struct Team {
  char* arena = nullptr;  ///< the own one
  int rank = 0;
  /// [segment][session's rank] where the session's segments are mapped here; null if they are not.
  char* const* segments = nullptr;
  int segment_ranks = 0;  ///< ranks of the session
  Layout layout;
};

/// What one call asks of a kernel, on one rank.
struct Call {
  const char* in = nullptr;
  char* out = nullptr;
  std::size_t count = 0;  ///< elements, as the public function defines them
  Reduction reduction;
  int peer = -1;  ///< root, or the other end of a send or receive
  Description description = 0;
  std::uint64_t number = 0;
  Place in_place;
  Place out_place;
  /// GPU: where the switch reaches this buffer of all ranks at once, if it stands at the same place on each, a multiple
  /// of 16; null: nowhere. The same on all ranks whose places are the same.
  char* in_multicast = nullptr;
  char* out_multicast = nullptr;
  /// CPU: this rank would rather read its peers' memory than write it, or in a broadcast share the copying with them.
  /// Ranks may differ; they do what all would.
  bool pulls = false;

  TUTTI_HD std::size_t element() const { return size_of(reduction.type); }
};

/// What the upper half of a packet's 64-bit tag says of the sender's call, so that a mismatch is seen without `enter`.
TUTTI_HD std::uint32_t packet_fingerprint(const Call& call) {
  std::uint64_t bits = call.description ^ static_cast<std::uint64_t>(call.count) * 0x9e3779b97f4a7c15u;
  bits = (bits ^ bits >> 32) * 0xd6e8feb86659fd93u;
  return static_cast<std::uint32_t>(bits >> 32);
}

/// Places in the arenas, for one block of one rank. The base of every executor's block.
class Connections {
 public:
  TUTTI_HD Connections(const Team& team, int index, int count)
      : team_(team),
        index_(index),
        count_(count),
        slots_(team.layout.geometry.slots),
        slot_bytes_(team.layout.geometry.slot_bytes) {}

  TUTTI_HD int rank() const { return team_.rank; }
  TUTTI_HD int size() const { return team_.layout.geometry.ranks; }
  TUTTI_HD int next() const { return rank() + 1 == size() ? 0 : rank() + 1; }
  TUTTI_HD int prev() const { return rank() == 0 ? size() - 1 : rank() - 1; }
  TUTTI_HD int index() const { return index_; }
  TUTTI_HD int count() const { return count_; }
  TUTTI_HD const Geometry& geometry() const { return team_.layout.geometry; }

  /// The flag in `receiver`'s arena that `sender` sets.
  TUTTI_HD Flag* flag(int receiver, Purpose purpose, int sender) const {
    return at<Flag>(arena(receiver), layout().flags) + connection(purpose, sender);
  }
  TUTTI_HD Entry* entry(int receiver, std::uint64_t number, int sender) const {
    const std::size_t half = number & 1;
    return at<Entry>(arena(receiver), layout().entries) + (half * blocks() + block()) * ranks() + at_index(sender);
  }
  TUTTI_HD Board* board(int rank) const { return at<Board>(arena(rank), layout().board); }
  /// The bases: counts at the start of the call, at the sending and at the receiving end.
  TUTTI_HD std::uint64_t& sent_base(Flags to) const {
    return at<std::uint64_t>(team_.arena, layout().sent)[connection(to.purpose, to.peer)];
  }
  TUTTI_HD std::uint64_t& received_base(Flags from) const {
    return at<std::uint64_t>(team_.arena, layout().received)[connection(from.purpose, from.peer)];
  }
  /// A count that the owner has acquired already: what it vouches for need not be looked at again.
  TUTTI_HD std::uint64_t& seen_count(Flags from) const {
    return at<std::uint64_t>(team_.arena, layout().seen)[connection(from.purpose, from.peer)];
  }
  TUTTI_HD std::uint64_t& uses(Region region) const {
    return at<std::uint64_t>(team_.arena, layout().uses)[static_cast<std::size_t>(region) * blocks() + block()];
  }

  /// Slots of the running call, and the bytes of one.
  TUTTI_HD int slots() const { return slots_; }
  TUTTI_HD std::size_t slot_bytes() const { return slot_bytes_; }
  /// Cuts this block's slots so that one holds `bytes`, if those are less than a slot: the same on all ranks, after
  /// `enter`, before the first slot. The more slots, the longer until one is written again: a CPU writes four times as
  /// fast to a line that its reader's cache has let go.
  TUTTI_HD void cut_slots(std::size_t bytes) {
    if (!geometry().cut) return;
    const std::size_t all = at_index(geometry().slots) * geometry().slot_bytes;
    const std::size_t least = least_slot_bytes(size()), wanted = ceil_div(bytes, kLine) * kLine;
    slot_bytes_ = smaller(wanted < least ? least : wanted, geometry().slot_bytes);
    slots_ = static_cast<int>(all / slot_bytes_);
  }

  /// Use k of this call in the ring: the slot of the next rank that I fill, and my own that the previous rank fills.
  TUTTI_HD char* next_slot(Count k) const {
    return inbox(next(), sent_base(data(next())) + static_cast<std::uint64_t>(k));
  }
  TUTTI_HD char* my_slot(Count k) const {
    return inbox(rank(), received_base(data(prev())) + static_cast<std::uint64_t>(k));
  }
  /// The same with several senders: the slot of `peer` that I fill, and my own that `peer` fills, in a lane that both
  /// ends know. Calls may cut slots as they like if they begin with `enter`, which has freed them all.
  TUTTI_HD char* lane_to(int peer, Lane lane, Count k) const {
    return inbox(peer, sent_base(data(peer)) + static_cast<std::uint64_t>(k)) + lane_offset(lane);
  }
  TUTTI_HD char* lane_from(int peer, Lane lane, Count k) const {
    return inbox(rank(), received_base(data(peer)) + static_cast<std::uint64_t>(k)) + lane_offset(lane);
  }
  TUTTI_HD std::size_t lane_bytes(int lanes) const {
    return slot_bytes() / static_cast<std::size_t>(lanes) / kLine * kLine;
  }
  /// Use k of this call in the outboxes: `owner`'s slot, and everyone's, in rank order.
  TUTTI_HD char* outbox(int owner, Count k) const { return arena(owner) + outbox_offset(k); }
  TUTTI_HD View outboxes(Count k) const { return per_rank(arenas(), size(), outbox_offset(k)); }
  /// Message slot k of this call, filled at `peer` by me, or here by `peer`: its header, then its data.
  TUTTI_HD Header* slot_at(int peer, Count k) const {
    return p2p(peer, rank(), sent_base(p2p_data(peer)) + static_cast<std::uint64_t>(k));
  }
  TUTTI_HD Header* slot_from(int peer, Count k) const {
    return p2p(rank(), peer, received_base(p2p_data(peer)) + static_cast<std::uint64_t>(k));
  }
  /// Where `receiver` tells `sender` of the buffer that a message of that rank is for.
  TUTTI_HD Header* invitation(int sender, int receiver) const {
    return at<Header>(arena(sender), layout().invitations) + block() * ranks() + at_index(receiver);
  }
  /// Where `sender`'s packets for use `use` of the region stand in `receiver`'s arena: one line, then data.
  TUTTI_HD char* packets(int receiver, std::uint64_t use, int sender) const {
    return arena(receiver) + packets_offset(use, sender);
  }
  TUTTI_HD std::size_t packets_offset(std::uint64_t use, int sender) const {
    return layout().packets + ((block() * 2 + (use & 1)) * ranks() + at_index(sender)) * layout().packet_stride();
  }
  /// The tag of a use: 32 bits, never 0. It repeats after 2^32 - 1 uses.
  TUTTI_HD static std::uint32_t packet_tag(std::uint64_t use) {
    return static_cast<std::uint32_t>(use % 0xffffffffu) + 1;
  }
  /// The whole 64-bit tag of a message by packets, and where it stands in its line.
  TUTTI_HD static std::uint64_t tag_of(const Call& call, std::uint64_t use) {
    return static_cast<std::uint64_t>(packet_fingerprint(call)) << 32 | packet_tag(use);
  }
  TUTTI_HD static std::uint64_t& tag_in(char* line) { return *reinterpret_cast<std::uint64_t*>(line + kPacketLine); }
  /// Whether tags begin to repeat with this use, so that those of old packets must go first.
  TUTTI_HD bool packets_wrap() const {
    const std::uint64_t use = uses(Region::packets);
    return use > 0 && packet_tag(use) == 1;
  }

  /// The peers' buffers of the running call, valid after an `enter` that returned peer-mapped.
  TUTTI_HD char* in_of(int peer) const { return in_table()[peer]; }
  TUTTI_HD char* out_of(int peer) const { return out_table()[peer]; }
  TUTTI_HD View all_in(std::size_t offset) const { return per_rank(in_table(), size(), offset); }
  TUTTI_HD View all_out(std::size_t offset) const { return per_rank(out_table(), size(), offset); }
  /// The same for the switch, after an `enter` that returned multicast.
  TUTTI_HD Multicast multicast_in(const Call& call, std::size_t offset) const {
    return {all_in(offset), call.in_multicast + offset};
  }
  TUTTI_HD Multicast multicast_out(const Call& call, std::size_t offset) const {
    return {all_out(offset), call.out_multicast + offset};
  }

 protected:
  TUTTI_HD char* arena(int rank) const { return arenas()[rank]; }
  TUTTI_HD char* const* arenas() const { return at<char*>(team_.arena, layout().arenas); }
  TUTTI_HD char** in_table() const { return at<char*>(team_.arena, layout().in) + block() * ranks(); }
  TUTTI_HD char** out_table() const { return at<char*>(team_.arena, layout().out) + block() * ranks(); }
  /// Where a peer's buffer is mapped here; null if its segment is not (any more).
  TUTTI_HD char* resolve(Place place, int peer) const {
    const int column = at<int>(team_.arena, layout().members)[peer];
    char* base = team_.segments[at_index(place.segment()) * at_index(team_.segment_ranks) + at_index(column)];
    return base ? base + place.offset() : nullptr;
  }
  TUTTI_HD const Team& team() const { return team_; }

 private:
  template <class T>
  TUTTI_HD static T* at(char* arena, std::size_t offset) {
    return reinterpret_cast<T*>(arena + offset);
  }
  TUTTI_HD static std::size_t at_index(int i) { return static_cast<std::size_t>(i); }
  TUTTI_HD const Layout& layout() const { return team_.layout; }
  TUTTI_HD std::size_t block() const { return at_index(index_); }
  TUTTI_HD std::size_t blocks() const { return at_index(geometry().blocks); }
  TUTTI_HD std::size_t ranks() const { return at_index(geometry().ranks); }
  TUTTI_HD std::size_t connection(Purpose purpose, int peer) const {
    return (static_cast<std::size_t>(purpose) * blocks() + block()) * ranks() + at_index(peer);
  }
  TUTTI_HD std::size_t slot(std::uint64_t use) const {
    const std::size_t all = at_index(geometry().slots) * geometry().slot_bytes;
    return block() * all + use % static_cast<std::uint64_t>(slots()) * slot_bytes();
  }
  TUTTI_HD std::size_t lane_offset(Lane lane) const { return at_index(lane.index) * lane_bytes(lane.of); }
  TUTTI_HD char* inbox(int owner, std::uint64_t use) const { return arena(owner) + layout().slots + slot(use); }
  TUTTI_HD std::size_t outbox_offset(Count k) const {
    return layout().slots + slot(uses(Region::outbox) + static_cast<std::uint64_t>(k));
  }
  TUTTI_HD Header* p2p(int receiver, int sender, std::uint64_t use) const {
    const auto slots = static_cast<std::uint64_t>(geometry().p2p_slots);
    const std::size_t index = (block() * ranks() + at_index(sender)) * slots + use % slots;
    return at<Header>(arena(receiver), layout().p2p + index * layout().p2p_stride());
  }

  const Team& team_;
  int index_;
  int count_;
  int slots_;
  std::size_t slot_bytes_;
};

}  // namespace tutti
