#include "collectives/segment_table.hpp"

#include <algorithm>
#include <array>

#include "collectives/error.hpp"

namespace tutti {

int SegmentTable::add(Bootstrap& bootstrap, std::span<const int> members, const SharedSegment& segment) {
  static_assert(std::is_trivially_copyable_v<std::bitset<kMaxSegments>>);
  std::bitset<kMaxSegments> mine, taken;
  {
    const std::lock_guard lock(mutex_);
    mine = used_;
  }
  for (const auto& theirs : bootstrap.all_gather(mine)) taken |= theirs;
  int index = 0;
  while (index < kMaxSegments && taken[static_cast<std::size_t>(index)]) ++index;
  if (index == kMaxSegments)
    throw Error(ErrorCode::system, "allocate: " + std::to_string(kMaxSegments) +
                                       " buffers are alive, the most that a session can have; destroy some first");
  const std::lock_guard lock(mutex_);
  used_.set(static_cast<std::size_t>(index));
  const auto row = static_cast<std::size_t>(index) * static_cast<std::size_t>(ranks_);
  for (int r = 0; r < bootstrap.size(); ++r)
    bases_[row + static_cast<std::size_t>(members[static_cast<std::size_t>(r)])] = segment.base(r);
  const int me = bootstrap.rank();
  own_.push_back({segment.base(me), segment.base(me) + segment.bytes(me), index, set_of(members), segment.multicast()});
  return index;
}

void SegmentTable::remove(int index) {
  const std::lock_guard lock(mutex_);
  used_.reset(static_cast<std::size_t>(index));
  const auto row = static_cast<std::size_t>(index) * static_cast<std::size_t>(ranks_);
  std::fill_n(bases_.begin() + static_cast<std::ptrdiff_t>(row), ranks_, nullptr);
  std::erase_if(own_, [index](const Own& own) { return own.index == index; });
}

Place SegmentTable::find(const void* pointer, std::size_t bytes, RankSet readers) const {
  const char* const begin = static_cast<const char*>(pointer);
  const std::lock_guard lock(mutex_);
  for (const Own& own : own_)
    if (begin >= own.begin && begin + bytes <= own.end && (readers & ~own.members) == 0)
      return place(own.index, static_cast<std::size_t>(begin - own.begin));
  return {};
}

char* SegmentTable::multicast_of(Place place, RankSet ranks) const {
  if (!place.mapped() || place.offset() % 16 != 0) return nullptr;
  const std::lock_guard lock(mutex_);
  for (const Own& own : own_)
    if (own.index == place.segment() && own.members == ranks && own.multicast) return own.multicast + place.offset();
  return nullptr;
}

}  // namespace tutti
