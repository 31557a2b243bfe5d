// What addresses mean: allocations, names of their parts, multicast windows.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/emulator/check/memory_shadow.hpp"

namespace tutti::emulator {

/// Memory of a device, at host addresses.
struct Allocation {
  std::string name;  ///< such as "arena of rank 1"
  int rank = 0;
  int device = 0;
  const void* begin = nullptr;
  std::size_t bytes = 0;
  std::uint64_t mapped = 0;  ///< bit r: rank r may access it too; the owner always may
  bool read_only = false;    ///< constants
};

/// A part of an allocation that has a meaning in the protocol, so that defects can be named.
struct NamedRange {
  enum class Kind : std::uint8_t {
    data,    ///< no rules
    slot,    ///< filled by one rank, read by another, again and again
    flag,    ///< signals
    packet,  ///< words of data and tag of `unit` bytes, each of which must be one scalar access
  };
  Kind kind = Kind::data;
  const void* begin = nullptr;
  std::size_t bytes = 0;
  std::string name;  ///< such as "slot 2 of the inbox of rank 1, block 0, filled by rank 0"
  std::size_t unit = 8;
};

/// Addresses that mean the same offset in each replica.
struct MulticastWindow {
  std::uint64_t begin = 0;  ///< a virtual address: nothing lies there
  std::size_t bytes = 0;
  std::vector<std::uint64_t> replicas;
};

/// An allocation with its shadow. Granules lie at multiples of 8 of the address.
struct Region {
  Allocation allocation;
  std::uint64_t begin = 0, end = 0;  ///< addresses
  std::uint64_t base = 0;            ///< address of granule 0
  bool freed = false;
  Shadow shadow;

  bool contains(std::uint64_t address, std::size_t bytes) const {
    return address >= begin && address < end && end - address >= bytes;
  }
  Granule& granule(std::uint64_t address) { return shadow[(address - base) / 8]; }
};

/// All allocations, names and windows.
class AddressMap {
 public:
  /// Throws std::runtime_error if it overlaps one that is not freed; one that is freed is forgotten.
  Region& add(const Allocation& allocation, std::uint32_t generation);
  void free(std::uint64_t begin);
  void name(const NamedRange& range);
  void add(const MulticastWindow& window);
  void clear();
  void forget_accesses(std::uint32_t generation);

  /// The region with this address, or null.
  Region* find(std::uint64_t address) {
    Region* const cached = cache_[address / kPage % kCached];
    if (cached && cached->contains(address, 1)) return cached;
    return search(address);
  }
  const NamedRange* named(std::uint64_t address) const;
  const MulticastWindow* window(std::uint64_t address) const;
  /// "flag `data from 0` + 8 (arena of rank 1 + 128)".
  std::string describe(std::uint64_t address) const;

 private:
  static constexpr std::size_t kCached = 64, kPage = 4096;
  Region* search(std::uint64_t address);

  std::map<std::uint64_t, Region> regions_;  // by begin
  std::map<std::uint64_t, NamedRange> names_;
  std::map<std::uint64_t, MulticastWindow> windows_;
  std::array<Region*, kCached> cache_{};
};

}  // namespace tutti::emulator
