// What addresses mean: allocations, names of their parts, multicast windows.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

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

}  // namespace tutti::emulator
