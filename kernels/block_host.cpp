#include "kernels/block_host.hpp"

namespace tutti {

void announce(const Team& team, const Call& call) {
  if (call.number == 0) return;
  Board& board = *Connections(team, 0, 1).board(team.rank);
  const auto say = [](std::uint64_t& word, std::uint64_t value) {
    std::atomic_ref(word).store(value, std::memory_order_relaxed);
  };
  say(board.description, call.description);
  say(board.elements, call.count);
  say(board.number, call.number);
}

Board seen_board(const Connections& arenas, int rank) {
  Board& board = *arenas.board(rank);
  const auto look = [](std::uint64_t& word) { return std::atomic_ref(word).load(std::memory_order_relaxed); };
  Board seen{};
  seen.failed = look(board.failed);
  seen.number = look(board.number);
  seen.description = look(board.description);
  seen.elements = look(board.elements);
  return seen;
}

Memory HostBlock::enter(const Call& call, Reach pushing, Reach pulling) {
  if (failed()) return Memory::failed;
  publish();
  const bool timed = times_lines(call);
  std::uint64_t& entered = sent_base({Purpose::enter, rank()});  // one count for all peers: everyone enters every call
  const std::uint64_t number = ++entered;
  for_each(kAll, [&](int peer) {
    Entry& mine = *entry(peer, number, rank());
    mine.description = call.description;
    mine.elements = call.count;
    mine.number = call.number;
    mine.in = call.in_place;
    mine.out = call.out_place;
    mine.pulls = call.pulls;
    store(mine.count, number);
  });

  Agreement agreement(pushing, pulling);
  for (int peer = 0; peer < size(); ++peer) {
    Place in = call.in_place, out = call.out_place;
    bool would_pull = call.pulls;
    if (peer != rank()) {
      Entry& theirs = *entry(rank(), number, peer);
      if (timed) time_look(theirs.count, [&](std::uint64_t seen) { return seen == number; });
      if (!poll([&] { return load(theirs.count) == number; }, peer)) {
        fail_at(Purpose::enter, peer, 1, 0,
                absent([&](int p) { return load(entry(rank(), number, p)->count) != number; }));
        return Memory::failed;
      }
      if (theirs.description != call.description || theirs.elements != call.count) {
        fail_mismatch(peer, theirs.description, theirs.elements, theirs.number);
        return Memory::failed;
      }
      in = theirs.in;
      out = theirs.out;
      would_pull = theirs.pulls != 0;
    }
    agreement.look(call, in, out, would_pull, peer);
  }
  if (timed) say_how_far();
  if (agreement.memory() == Memory::staged) return Memory::staged;
  const Reach reach = agreement.granted();
  if (reach == Reach::nothing) return agreement.memory();

  for (int peer = 0; peer < size(); ++peer) {
    const Entry& theirs = *entry(rank(), number, peer);
    const bool reads = reads_in(reach, peer, call.peer), writes = writes_out(reach, peer, call.peer);
    char* const in = !reads ? nullptr : peer == rank() ? const_cast<char*>(call.in) : resolve(theirs.in, peer);
    char* const out = !writes ? nullptr : peer == rank() ? call.out : resolve(theirs.out, peer);
    if ((reads && !in) || (writes && !out)) {
      fail({.kind = Failure::Kind::unmapped, .peer = peer});
      return Memory::failed;
    }
    in_table()[peer] = in;
    out_table()[peer] = out;
    const bool pushes = agreement.memory() != Memory::pulled || reach == Reach::root_in_out;
    writes_peers_ |= peer != rank() && writes && pushes;
  }
  return agreement.memory();
}

void HostBlock::fail_at(Purpose purpose, int peer, Count wanted, Count seen, std::uint64_t absent) {
  Failure failure = failure_;  // a late wait may have said why already
  if (!failed()) failure.kind = Failure::Kind::timeout;
  failure.purpose = purpose;
  failure.peer = peer;
  failure.wanted = wanted;
  failure.seen = seen;
  if (failure.kind == Failure::Kind::timeout) failure.absent = absent;
  fail(failure);
}

bool HostBlock::LateWait::called_something_else(const Board& theirs) const {
  const Call& mine = block_.call_;
  return mine.number != 0 && theirs.number == mine.number &&
         (theirs.description != mine.description || theirs.elements != mine.count);
}

bool HostBlock::LateWait::over() {
  constexpr int kPausesPerLook = 64;  // a look costs tens of nanoseconds, a pause some hundreds
  if (++pauses_ % kPausesPerLook != 0) return false;
  const auto now = std::chrono::steady_clock::now();
  if (pauses_ == kPausesPerLook) start_ = now;
  const Board theirs = seen_board(block_, peer_);
  const bool peer_failed = theirs.failed != 0;
  if (called_something_else(theirs)) {
    // A board is three words: look twice, so that one caught in the middle of an update is not believed.
    if (suspected_) {
      block_.fail_mismatch(peer_);
      return true;
    }
    suspected_ = true;
    return false;
  }
  suspected_ = false;
  if (peer_failed || load(block_.board(block_.rank())->failed) != 0) {
    block_.fail({.kind = Failure::Kind::peer_failed, .peer = peer_failed ? peer_ : block_.rank()});
    return true;
  }
  return now - start_ > block_.waiting_.timeout;
}

}  // namespace tutti
