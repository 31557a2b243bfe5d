#include "tests/emulator/check/memory_allocations.hpp"

#include <fmt/format.h>

#include <iterator>
#include <stdexcept>

namespace tutti::emulator {
namespace {

constexpr std::uint64_t kNear = 1 << 20;  // bytes that an access may be off and still be told with what it is behind

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

/// The entry with the largest key that is not above `address`, or null.
template <class Map>
auto* entry_before(Map& map, std::uint64_t address) {
  auto after = map.upper_bound(address);
  return after == map.begin() ? nullptr : &std::prev(after)->second;
}

std::string_view word_for(NamedRange::Kind kind) {
  switch (kind) {
    case NamedRange::Kind::data: return "data";
    case NamedRange::Kind::slot: return "slot";
    case NamedRange::Kind::flag: return "flag";
    case NamedRange::Kind::packet: return "packet";
  }
  return "";
}

}  // namespace

Region& AddressMap::add(const Allocation& allocation, std::uint32_t generation) {
  const std::uint64_t begin = address_of(allocation.begin), end = begin + allocation.bytes;
  if (allocation.bytes == 0) throw std::runtime_error(fmt::format("{}: an allocation of no bytes", allocation.name));
  for (auto next = regions_.begin(); next != regions_.end();) {
    Region& other = next->second;
    const bool overlaps = other.begin < end && begin < other.end;
    if (overlaps && !other.freed)
      throw std::runtime_error(fmt::format("{} overlaps {}", allocation.name, other.allocation.name));
    next = overlaps ? regions_.erase(next) : std::next(next);
  }
  cache_ = {};
  Region& region = regions_[begin];
  region.allocation = allocation;
  region.begin = begin;
  region.end = end;
  region.base = begin / 8 * 8;
  region.shadow = Shadow((end - region.base + 7) / 8);
  region.shadow.forget(generation);
  return region;
}

void AddressMap::free(std::uint64_t begin) {
  const auto found = regions_.find(begin);
  if (found == regions_.end() || found->second.freed)
    throw std::runtime_error(fmt::format("frees {}, where no allocation begins", describe(begin)));
  found->second.freed = true;
}

void AddressMap::name(const NamedRange& range) {
  const std::uint64_t begin = address_of(range.begin), end = begin + range.bytes;
  if (const NamedRange* other = entry_before(names_, end - 1); other && address_of(other->begin) + other->bytes > begin)
    throw std::runtime_error(fmt::format("{} overlaps {}", range.name, other->name));
  names_[begin] = range;
}

void AddressMap::add(const MulticastWindow& window) { windows_[window.begin] = window; }

void AddressMap::clear() {
  cache_ = {};
  regions_.clear();
  names_.clear();
  windows_.clear();
}

void AddressMap::forget_accesses(std::uint32_t generation) {
  for (auto& [begin, region] : regions_) region.shadow.forget(generation);
}

Region* AddressMap::search(std::uint64_t address) {
  Region* const region = entry_before(regions_, address);
  if (!region || !region->contains(address, 1)) return nullptr;
  return cache_[address / kPage % kCached] = region;
}

const NamedRange* AddressMap::named(std::uint64_t address) const {
  const NamedRange* const range = entry_before(names_, address);
  return range && address - address_of(range->begin) < range->bytes ? range : nullptr;
}

const MulticastWindow* AddressMap::window(std::uint64_t address) const {
  const MulticastWindow* const window = entry_before(windows_, address);
  return window && address - window->begin < window->bytes ? window : nullptr;
}

std::string AddressMap::describe(std::uint64_t address) const {
  std::string text;
  if (const NamedRange* range = named(address)) {
    text = fmt::format("{} `{}' + {}", word_for(range->kind), range->name, address - address_of(range->begin));
  }
  const Region* const region = entry_before(regions_, address);
  if (!region) return text.empty() ? fmt::format("address {:#x}", address) : text;
  const std::uint64_t bytes = region->end - region->begin, offset = address - region->begin;
  std::string place;
  if (offset < bytes)
    place = fmt::format("{} + {}", region->allocation.name, offset);
  else if (offset - bytes > kNear)
    place = fmt::format("address {:#x}", address);
  else
    place = fmt::format("address {:#x}, {} bytes behind {} of {} bytes", address, offset - bytes,
                        region->allocation.name, bytes);
  return text.empty() ? place : fmt::format("{} ({})", text, place);
}

}  // namespace tutti::emulator
