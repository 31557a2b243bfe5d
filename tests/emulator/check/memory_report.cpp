// Says what went wrong, and finds the best name for a race.
#include <fmt/format.h>

#include "tests/emulator/check/memory_parts.hpp"

namespace tutti::emulator {
namespace {

std::string_view scope_word(std::uint8_t bits) {
  if ((bits & kSysScope) != 0) return "system";
  return (bits & kGpuScope) != 0 ? "GPU" : "block";
}

}  // namespace

/// The facts of a race: `before` was done first, `after` is being done.
struct CheckedMemory::Parts::RaceFacts {
  Record before;
  Record after;
  std::uint64_t address;
  const NamedRange* range;
  bool unread;  ///< nobody had read the bytes when `after` came
};

std::string CheckedMemory::Parts::who(ThreadId id) const {
  const BlockState& block = blocks[threads.placement(id).block];
  const StreamState& stream = streams[static_cast<std::size_t>(block.stream)];
  if (id == stream.host()) return fmt::format("rank {} host", stream.shape.rank);
  return fmt::format("rank {} block {} thread {}", stream.shape.rank, block.index,
                     (id - stream.shape.first_id) % stream.shape.threads);
}

std::string CheckedMemory::Parts::describe(ThreadId id, std::uint32_t instruction, std::uint8_t bits) const {
  const std::string_view action = (bits & kWrite) != 0         ? "write"
                                  : (bits & kNonCoherent) != 0 ? "non-coherent read"
                                                               : "read";
  const std::string order =
      (bits & kStrong) != 0 ? fmt::format("strong, {} scope", scope_word(bits)) : std::string("weak");
  return fmt::format("{} ({}) by {} of {}", action, order, who(id), code.describe(instruction));
}

void CheckedMemory::Parts::fail(Defect defect, const Access& access, const std::string& what) const {
  tell_unwritten();
  throw Found(defect, fmt::format("{}: {}; {}", name_of(defect), what,
                                  describe(access.thread, access.instruction, access.bits)));
}

std::string CheckedMemory::Parts::place(std::uint64_t address) const {
  for (const BlockState& block : blocks)
    if (block.shared && block.shared->contains(address, 1))
      return fmt::format("{} + {}", block.shared->allocation.name, address - block.shared->begin);
  return map.describe(address);
}

void CheckedMemory::Parts::note_unwritten(const Access& access, std::uint64_t address) {
  if (unwritten.empty())
    unwritten = fmt::format("{}: bytes at {} that nobody has written; {}", name_of(Defect::uninitialised),
                            place(address), describe(access.thread, access.instruction, access.bits));
}

void CheckedMemory::Parts::tell_unwritten() const {
  if (!unwritten.empty()) throw Found(Defect::uninitialised, unwritten);
}

void CheckedMemory::Parts::fail_region(const Step& now, std::uint64_t address, std::size_t bytes) {
  const bool writes = (now.access.bits & kWrite) != 0;
  const std::string what = fmt::format("{} bytes at {}", bytes, place(address));
  const auto inside = [&](std::span<const std::byte> space) {
    const auto begin = reinterpret_cast<std::uint64_t>(space.data());
    return address >= begin && address - begin < space.size();
  };
  const Region* const found = map.find(address);
  if (!found) {
    if (inside(now.thread.block->launch().parameters))
      fail(Defect::read_only, now.access, fmt::format("{} bytes of the parameters", bytes));
    for (const BlockState& other : blocks)
      if (other.block && (inside(other.block->shared()) || inside(other.block->stack())))
        fail(Defect::foreign_memory, now.access,
             fmt::format("{} bytes of shared or local memory of rank {} block {}", bytes,
                         streams[static_cast<std::size_t>(other.stream)].shape.rank, other.index));
    fail(Defect::out_of_bounds, now.access, what);
  }
  if (found->freed) fail(Defect::use_after_free, now.access, what);
  if (!found->contains(address, bytes))
    fail(Defect::out_of_bounds, now.access, fmt::format("{}, which has {} bytes", what, found->end - found->begin));
  if (writes && found->allocation.read_only) fail(Defect::read_only, now.access, what);
  if ((found->allocation.mapped >> now.rank & 1) == 0)
    fail(Defect::not_mapped, now.access, fmt::format("{}, for rank {}", what, now.rank));
  fail(Defect::non_coherent, now.access, fmt::format("{}, memory of a peer", what));
}

/// A race is named after what should have ordered it: a signal that one side has sent after its access, and that the
/// other has seen before its own.
Defect CheckedMemory::Parts::missing_order(const RaceFacts& race) {
  const Placement &a = threads.placement(race.before.thread), &b = threads.placement(race.after.thread);
  const auto in_block_of = [this](ThreadId id, const Placement& place) {
    return id != kNobody && threads.placement(id).block == place.block;
  };
  for (ThreadId mate = 0; mate < threads.count(); ++mate)
    if (in_block_of(mate, b) && mate != race.after.thread &&
        threads[mate].known.of(race.before.thread) >= race.before.time)
      return Defect::missing_barrier;  // another thread of the block has waited
  for (std::uint32_t k = 1; k <= histories.count(); ++k) {
    Location& location = histories[k];
    const NamedRange* const range = map.named(location.address);
    if (range && range->kind != NamedRange::Kind::flag) continue;
    for (const Seen& seen : location.seen) {
      if (!in_block_of(seen.reader, b)) continue;
      const Message& signal = location.writes[seen.index];
      if (!in_block_of(signal.thread, a) || signal.step <= race.before.step) continue;
      if (signal.releases.empty()) return Defect::flag_not_released;
      const Release& release = signal.releases.front();
      if (!includes(release.scope, a, b)) return Defect::wrong_scope;
      if (release.clock.of(race.before.thread) < race.before.time) return Defect::missing_barrier;
      if (seen.reader != race.after.thread && threads[race.after.thread].known.of(seen.reader) < seen.time)
        return Defect::missing_barrier;
      const Instruction* const reader = code.find(seen.instruction);
      if (reader && acquires(reader->order) && !includes(scope_bits(reader->scope), b, a)) return Defect::wrong_scope;
      return Defect::flag_not_acquired;
    }
  }
  return Defect::data_race;
}

Defect CheckedMemory::Parts::classify(const RaceFacts& race) {
  const Record &a = race.before, &b = race.after;
  const bool packet = race.range && race.range->kind == NamedRange::Kind::packet;
  if ((a.bits & kNonCoherent) != 0 || (b.bits & kNonCoherent) != 0) return Defect::non_coherent;
  if (a.strong() && b.strong()) {
    if (a.mask == b.mask) return Defect::wrong_scope;
    return packet ? Defect::torn_packet : Defect::mixed_sizes;
  }
  if (threads.placement(a.thread).block == threads.placement(b.thread).block) return Defect::missing_barrier;
  if (packet) return Defect::torn_packet;
  if (const Defect order = missing_order(race); order != Defect::data_race) return order;
  if (!race.range || race.range->kind != NamedRange::Kind::slot) return Defect::data_race;
  if (a.writes() && !b.writes()) return (a.bits & kOverUnread) != 0 ? Defect::unread_slot : Defect::unfilled_slot;
  if (!a.writes() || race.unread) return Defect::unread_slot;
  return Defect::data_race;
}

void CheckedMemory::Parts::fail_race(const Access& access, const Granule& granule, std::uint64_t address,
                                     std::uint8_t mask, const Record& other) {
  const Record now{access.thread, mask, access.time, access.instruction, access.bits, access.step};
  const RaceFacts race{other, now, address, map.named(address), (granule.unread & mask) == mask};
  const Defect defect = classify(race);
  const bool earlier_launch = other.time < threads.placement(other.thread).first;
  throw Found(defect, fmt::format("{}: at {}:\n  first  {}{}\n  then   {}\n  and nothing orders them", name_of(defect),
                                  place(address),
                                  describe(other.thread, other.instruction, static_cast<std::uint8_t>(other.bits)),
                                  earlier_launch ? ", in an earlier launch" : "",
                                  describe(access.thread, access.instruction, access.bits)));
}

std::string CheckedMemory::last_read(const Thread& thread) const {
  const ThreadState& state = parts_->threads[thread.id];
  if (state.last_address == 0) return "nothing";
  return fmt::format("{:#x} in {}, by {}", state.last_value, parts_->place(state.last_address),
                     parts_->code.describe(state.last_instruction));
}

std::string CheckedMemory::describe(const Thread& thread) const {
  return fmt::format("{} of {}", parts_->who(thread.id), parts_->code.describe(parts_->code.of(thread)));
}

}  // namespace tutti::emulator
