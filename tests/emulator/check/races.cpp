#include "tests/emulator/check/races.hpp"

#include <bit>
#include <stdexcept>

namespace tutti::emulator {

bool RaceDetector::races(const Record& record, std::uint8_t mask, const Access& access) const {
  if ((record.mask & mask) == 0 || access.after(record)) return false;
  if ((record.bits & access.bits & kStrong) == 0) return true;
  if (record.mask != mask) return true;  // strong, but not of the same bytes
  const Placement &a = placements_[record.thread], &b = placements_[access.thread];
  return !includes(record.bits, a, b) || !includes(access.bits, b, a);
}

bool RaceDetector::read_too_early(const Record& record) const {
  if ((record.bits & kNonCoherent) == 0) return false;
  const Placement& reader = placements_[record.thread];
  return reader.live && record.time >= reader.first;
}

const Record* RaceDetector::read(Granule& granule, std::uint8_t mask, const Access& access) {
  RecordList& writes = granule.writes;
  for (std::size_t i = 0; i < writes.size; ++i)
    if (races(at(writes, i), mask, access)) return &at(writes, i);
  if ((access.bits & kNonCoherent) != 0)
    for (std::size_t i = 0; i < writes.size; ++i) {
      const Record& write = at(writes, i);
      if ((write.mask & mask) != 0 && access.launch_known->of(write.thread) < write.time) return &write;
    }
  granule.unread &= static_cast<std::uint8_t>(~mask);
  add(granule.reads, mask, access);
  return nullptr;
}

const Record* RaceDetector::write(Granule& granule, std::uint8_t mask, const Access& access) {
  RecordList &writes = granule.writes, &reads = granule.reads;
  for (std::size_t i = 0; i < writes.size; ++i)
    if (races(at(writes, i), mask, access)) return &at(writes, i);
  for (std::size_t i = 0; i < reads.size; ++i) {
    const Record& read = at(reads, i);
    if (races(read, mask, access) || ((read.mask & mask) != 0 && read_too_early(read))) return &read;
  }
  Access noted = access;
  if ((granule.unread & mask) == mask) noted.bits |= kOverUnread;
  granule.unread |= mask;
  if ((access.bits & kStrong) == 0) {
    cover(writes, mask);
    cover(reads, mask);
  }
  add(writes, mask, noted);
  return nullptr;
}

void RaceDetector::cover(RecordList& list, std::uint8_t mask) {
  if (mask == 0xff) {
    list.size = 0;
    return;
  }
  std::uint16_t kept = 0;
  for (std::size_t i = 0; i < list.size; ++i) {
    Record record = at(list, i);
    record.mask &= static_cast<std::uint8_t>(~mask);
    if (record.mask != 0) at(list, kept++) = record;
  }
  list.size = kept;
}

/// Whether the access makes the record superfluous (see the top of races.hpp). Both are in one list.
bool RaceDetector::is_covered(const Record& record, std::uint8_t mask, const Access& access) const {
  if ((record.mask & ~mask) != 0 || !access.after(record) || read_too_early(record)) return false;
  if ((access.bits & kStrong) == 0) return true;  // a weak write has covered all before it is added
  return record.strong() && record.mask == mask && (record.bits & kScopeBits) == (access.bits & kScopeBits) &&
         placements_[record.thread].block == placements_[access.thread].block;
}

void RaceDetector::add(RecordList& list, std::uint8_t mask, const Access& access) {
  if (list.size != 0) {
    Record& last = at(list, list.size - 1u);
    if (last.thread == access.thread && last.bits == access.bits) {
      const bool same_bytes = last.mask == mask;
      if (same_bytes || (last.time == access.time && (access.bits & kStrong) == 0)) {
        last.mask |= mask;
        last.time = access.time;
        last.instruction = access.instruction;
        last.step = access.step;
        return;
      }
    }
    if (list.size >= list.capacity) make_room(list, mask, access);
  } else if (list.capacity == 0) {
    list.capacity = 1;
  }
  at(list, list.size++) = {access.thread, mask, access.time, access.instruction, access.bits, access.step};
}

void RaceDetector::make_room(RecordList& list, std::uint8_t mask, const Access& access) {
  // A thread's own later access of the same kind stands for its earlier one, whoever makes room.
  const auto repeated = [&](std::size_t i) {
    const Record& record = at(list, i);
    for (std::size_t k = i + 1; k < list.size; ++k) {
      const Record& later = at(list, k);
      if (later.thread == record.thread && later.bits == record.bits && later.mask == record.mask) return true;
    }
    return false;
  };
  std::uint16_t kept = 0;
  for (std::size_t i = 0; i < list.size; ++i) {
    const Record record = at(list, i);
    if (!is_covered(record, mask, access) && !repeated(i)) at(list, kept++) = record;
  }
  list.size = kept;
  if (kept <= list.capacity / 2) return;  // so that records are looked at a bounded number of times
  const std::uint32_t capacity = list.capacity == 1 ? 4 : list.capacity * 2u;
  if (capacity > 0x8000) throw std::runtime_error("the checker has no room for so many readers of one word");
  const auto size_class = [](std::uint32_t c) { return static_cast<std::size_t>(std::countr_zero(c)); };
  std::uint32_t place;
  if (auto& free = free_[size_class(capacity)]; !free.empty()) {
    place = free.back();
    free.pop_back();
  } else {
    place = static_cast<std::uint32_t>(pool_size_);
    pool_size_ += capacity;
    if (pool_.size() < pool_size_) pool_.resize(pool_size_ * 2);
  }
  for (std::uint32_t i = 1; i < kept; ++i) pool_[place + i - 1] = pool_[list.more + i - 1];
  if (list.capacity > 1) free_[size_class(list.capacity)].push_back(list.more);
  list.more = place;
  list.capacity = static_cast<std::uint16_t>(capacity);
}

}  // namespace tutti::emulator
