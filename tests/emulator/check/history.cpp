#include "tests/emulator/check/history.hpp"

#include <algorithm>
#include <cstring>

namespace tutti::emulator {
namespace {

constexpr std::size_t kFirstTidy = 128;

}  // namespace

void Histories::begin_run() {
  for (std::uint32_t i = 0; i < used_; ++i)
    for (std::size_t k = 0; k < locations_[i].count; ++k) locations_[i].writes[k].releases.clear();
  used_ = 0;
}

void Histories::drop(Granule& granule, std::uint8_t mask, std::vector<ThreadId>& woken) {
  std::uint32_t* link = &granule.location;
  while (*link != 0) {
    Location& location = (*this)[*link];
    if ((location.mask & mask) == 0) {
      link = &location.next;
      continue;
    }
    woken.insert(woken.end(), location.pollers.begin(), location.pollers.end());
    *link = location.next;
  }
}

Location& Histories::find(Granule& granule, std::uint64_t address, std::uint8_t width, bool& is_new,
                          std::vector<ThreadId>& woken) {
  is_new = false;
  for (std::uint32_t i = granule.location; i != 0; i = (*this)[i].next)
    if ((*this)[i].address == address && (*this)[i].width == width) return (*this)[i];
  const auto mask = static_cast<std::uint8_t>(((1u << width) - 1) << (address & 7));
  drop(granule, mask, woken);
  is_new = true;
  if (used_ == locations_.size()) locations_.emplace_back();
  Location& location = locations_[used_++];
  location.address = address;
  location.width = width;
  location.mask = mask;
  location.next = granule.location;
  location.seen.clear();
  location.pollers.clear();
  location.tidy_at = kFirstTidy;
  granule.location = used_;
  if (location.writes.empty()) location.writes.emplace_back();
  location.count = 1;
  Message& initial = location.writes[0];
  initial.value = 0;
  std::memcpy(&initial.value, reinterpret_cast<const void*>(address), width);
  initial.thread = kNobody;
  initial.time = initial.instruction = initial.step = 0;
  initial.released_here = false;
  return location;
}

Choice Histories::choice(Location& location, const Access& access) const {
  Choice choice{0};
  for (std::size_t i = location.count; i-- > 1;) {
    const Message& write = location.writes[i];
    if (write.thread == access.thread || access.known->of(write.thread) >= write.time) {
      choice.oldest = static_cast<std::uint32_t>(i);
      break;
    }
  }
  for (Seen& seen : location.seen) {
    if (seen.reader == access.thread) {
      if (!choice.own || seen.index >= choice.own->index) choice.own = &seen;
    } else if (access.known->of(seen.reader) < seen.time) {
      continue;
    }
    choice.oldest = std::max(choice.oldest, seen.index);
  }
  return choice;
}

Message& Histories::append(Location& location, std::uint64_t value, const Access& access) {
  if (location.count == location.writes.size()) location.writes.emplace_back();
  Message& message = location.writes[location.count++];
  message.value = value;
  message.thread = access.thread;
  message.time = access.time;
  message.instruction = access.instruction;
  message.step = access.step;
  message.released_here = false;
  message.releases.clear();
  std::memcpy(reinterpret_cast<void*>(location.address), &value, location.width);
  return message;
}

void Histories::forget_before(Location& location, std::uint32_t oldest) {
  const auto first = location.writes.begin();
  std::rotate(first, first + oldest, first + static_cast<std::ptrdiff_t>(location.count));
  location.count -= oldest;
  for (std::size_t k = location.count; k < location.count + oldest; ++k) location.writes[k].releases.clear();
  std::erase_if(location.seen, [oldest](const Seen& seen) { return seen.index < oldest; });
  for (Seen& seen : location.seen) seen.index -= oldest;
  location.tidy_at = std::max(kFirstTidy, 2 * location.count);
}

}  // namespace tutti::emulator
