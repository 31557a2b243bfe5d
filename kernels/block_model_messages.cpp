// The words of the model's block that carry a call's description: enter, packets, and the headers of messages.
#include <cstring>

#include "kernels/block_model.hpp"

namespace tutti {
namespace {

using model::Defect;
using model::Word;

constexpr std::size_t kTag = sizeof(std::uint64_t);
constexpr std::size_t kHeader = offsetof(Header, count) - offsetof(Header, place);  // what `offer` writes

char* payload_in(char* line, std::size_t bytes) { return bytes <= kPacketLine ? line : line + kLine; }

}  // namespace

Memory ModelBlock::enter(const Call& call, Reach pushing, Source at) {
  return enter(call, pushing, Reach::nothing, at);
}

Memory ModelBlock::enter(const Call& call, Reach pushing, Reach pulling, Source at) {
  if (!begin(Word::enter, at)) return failed_ ? Memory::failed : Memory::staged;
  touched_.clear();
  const std::uint64_t number = ++sent_base({Purpose::enter, rank()});
  const auto header = [](Entry& entry) { return reinterpret_cast<char*>(&entry) + kTag; };
  for_each(kAll, [&](int peer) {
    if (verdict_.silent) return;
    Entry& mine = *entry(peer, number, rank());
    if (!model_.access(me_, header(mine), sizeof(Entry) - kTag, model::Model::Access::write)) return;
    mine.description = call.description;
    mine.elements = call.count;
    mine.number = call.number;
    mine.in = call.in_place;
    mine.out = call.out_place;
    mine.pulls = call.pulls;
    model_.pause();
    publish(&mine.count, number, false);
  });

  Agreement agreement(pushing, pulling);
  agreement.look(call, call.in_place, call.out_place, call.pulls, rank());
  // As they were when they were compared: a peer that a broken kernel lets run ahead writes them again.
  std::vector<Entry> entries(static_cast<std::size_t>(size()));
  for_each(kAll, [&](int peer) {
    Entry& theirs = *entry(rank(), number, peer);
    if (failed_ || (!verdict_.deaf && !await(theirs.count, number, false, "enter", peer, number - 1))) return;
    model_.access(me_, header(theirs), sizeof(Entry) - kTag, model::Model::Access::read);
    if (theirs.count != number || theirs.description != call.description || theirs.elements != call.count)
      return fail("rank " + std::to_string(peer) + " has entered another call");
    agreement.look(call, theirs.in, theirs.out, theirs.pulls != 0, peer);
    entries[static_cast<std::size_t>(peer)] = theirs;
  });
  if (failed_) return Memory::failed;
  if (agreement.memory() == Memory::staged) return Memory::staged;

  const Reach reach = agreement.granted();
  for (int peer = 0; peer < size(); ++peer) {
    const bool own = peer == rank();
    const Entry& theirs = entries[static_cast<std::size_t>(peer)];
    const bool reads = reads_in(reach, peer, call.peer), writes = writes_out(reach, peer, call.peer);
    char* const in = !reads ? nullptr : own ? const_cast<char*>(call.in) : resolve(theirs.in, peer);
    char* const out = !writes ? nullptr : own ? call.out : resolve(theirs.out, peer);
    if ((reads && !in) || (writes && !out)) {
      fail("a buffer of rank " + std::to_string(peer) + " is not mapped here");
      return Memory::failed;
    }
    in_table()[peer] = in;
    out_table()[peer] = out;
  }
  return agreement.memory();
}

void ModelBlock::leave(Source at) {
  if (!begin(Word::leave, at)) return;
  if (!verdict_.silent) signal_now({Purpose::leave, kAll}, 1);
  if (!verdict_.deaf) wait_now({Purpose::leave, kAll}, 1);
  if (failed_) return;
  for_each(kAll, [&](int peer) {
    ++sent_base({Purpose::leave, peer});
    ++received_base({Purpose::leave, peer});
  });
}

// put_packets and reduce_packets take an element from, and put it to, the caller's buffers in the same thread: `in` may
// be `out` although no barrier stands between them.
void ModelBlock::put_packets(const Call& call, const char* in, std::size_t n, std::size_t stride, int to, Source at) {
  if (!begin(Word::put_packets, at)) return;
  const std::uint64_t use = uses(Region::packets);
  if (n * call.element() > geometry().packet_bytes)
    return model_.find(Defect::stray, model_.text_of(me_) + ", put_packets of " + std::to_string(n * call.element()) +
                                          " bytes, where only " + std::to_string(geometry().packet_bytes) + " fit");
  for_each(kAll, [&](int peer) {
    const std::size_t bytes = to == kAll || to == peer ? n * call.element() : 0;
    const char* const from = bytes ? in + static_cast<std::size_t>(peer) * stride : in;
    char* const line = packets(peer, use, rank());
    char* const payload = payload_in(line, bytes);
    if (!touch(from, bytes, false, false) || !touch_payload(payload, bytes, true)) return;
    if (bytes) std::memcpy(payload, from, bytes);
    model_.pause();
    touch(&tag_in(line), kTag, true);
    publish(&tag_in(line), tag_of(call, use), true);
  });
}

/// Waits for the packets of `peer`: where their payload of `bytes` is, null if they did not come.
char* ModelBlock::arrived(const Call& call, int peer, std::size_t bytes) {
  const std::uint64_t use = uses(Region::packets), tag = tag_of(call, use);
  char* const line = packets(rank(), use, peer);
  // A GPU has a tag in every eight bytes, and shorter messages leave the rest as it was.
  if (packets_wrap() && model_.wiped_[&uses(Region::packets)] != use)
    model_.find(Defect::counts, model_.text_of(me_) + ", whose tags begin to repeat, finds its packets not wiped");
  if (failed_ || !await(tag_in(line), packet_tag(use), true, "packets", peer, 0)) return nullptr;
  if (!touch(&tag_in(line), kTag, false)) return nullptr;
  if (tag_in(line) != tag) {
    fail("the packets of rank " + std::to_string(peer) + " are of another call");
    return nullptr;
  }
  char* const payload = payload_in(line, bytes);
  return touch(payload, bytes, false) ? payload : nullptr;
}

void ModelBlock::get_packets(const Call& call, char* out, std::size_t n, std::size_t stride, int from, Source at) {
  if (!begin(Word::get_packets, at)) return;
  for_each(kAll, [&](int peer) {
    const std::size_t bytes = from == kAll || from == peer ? n * call.element() : 0;
    const char* const payload = arrived(call, peer, bytes);
    if (!payload || bytes == 0) return;
    char* const to = out + static_cast<std::size_t>(peer) * stride;
    if (touch(to, bytes, true)) std::memcpy(to, payload, bytes);
  });
}

void ModelBlock::reduce_packets(const Call& call, char* out, const char* in, std::size_t n, Source at) {
  if (!begin(Word::reduce_packets, at)) return;
  const std::size_t bytes = n * call.element();
  sources_.assign(static_cast<std::size_t>(size()), in);
  bool right = touch(in, bytes, false);
  for_each(kAll, [&](int peer) {
    const char* const payload = arrived(call, peer, bytes);
    right &= payload != nullptr;
    sources_[static_cast<std::size_t>(peer)] = payload;
  });
  if (n == 0 || !right || !touch(out, bytes, true)) return;
  for (const char* source : sources_)
    if (!apart(out, source, bytes)) return;
  reduce_sources(n, call.reduction);
  std::memcpy(out, moved_.data(), bytes);
}

void ModelBlock::wipe_packets(Source at) {
  if (!begin(Word::wipe_packets, at)) return;
  for (std::uint64_t half = 0; half < 2; ++half) {
    for_each(kAll, [&](int peer) {
      std::uint64_t& tag = tag_in(packets(rank(), half, peer));
      touch(&tag, kTag, true);
      tag = 0;
    });
  }
  model_.wiped_[&uses(Region::packets)] = uses(Region::packets);
}

void ModelBlock::offer(Header* header, const Call& call, Place place, Source at) {
  if (!begin(Word::offer, at) || !touch(&header->place, kHeader, true)) return;
  header->place = place;
  header->elements = call.count;
  header->description = call.description;
}

Offer ModelBlock::accept(Header* header, const Call& call, Source at) {
  if (!begin(Word::accept, at) || !touch(&header->place, kHeader, false)) return {};
  if (header->description != call.description || header->elements != call.count) {
    fail("rank " + std::to_string(call.peer) + " sends another message");
    return {};
  }
  if (!header->place.mapped()) return {Memory::staged, nullptr};
  char* const there = resolve(header->place, call.peer);
  if (!there) fail("the message of rank " + std::to_string(call.peer) + " is not mapped here");
  return {there ? Memory::peer_mapped : Memory::failed, there};
}

}  // namespace tutti
