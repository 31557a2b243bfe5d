// Where the memory of all ranks stands in virtual time: whose an address is follows from its bits.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/connection.hpp"
#include "kernels/timed.hpp"

namespace tutti::timed {

class Places {
 public:
  Places(const Geometry& geometry, Backing backing);
  ~Places();
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  const Layout& layout() const { return layout_; }
  const Team& team(int rank) const { return teams_[static_cast<std::size_t>(rank)]; }
  char* arena(int rank) const {
    const auto r = static_cast<std::size_t>(rank);
    return arenas_ + (r << arena_bits_) + r % kStaggers * kStagger;
  }

  char* allocate(int rank, std::size_t bytes);
  int allocate_segment(std::size_t bytes);
  char* segment(int number, int rank) const;
  Place place_of(const void* at) const;

  bool in_arena(const void* at) const { return address(at) - address(arenas_) < arenas_bytes_; }
  /// Whose memory it is; -1 if it is none that was allocated here.
  int owner(const void* at) const {
    if (in_arena(at)) return static_cast<int>((address(at) - address(arenas_)) >> arena_bits_);
    const std::uintptr_t offset = address(at) - address(buffers_);
    return offset < buffers_bytes_ ? static_cast<int>(offset >> buffer_bits_) : -1;
  }
  /// What an address is to the algorithm; `calls` are those that run on its owner.
  At at(const void* address, std::span<const Launch> calls) const;

 private:
  // The same place of every rank would fall into the same set of every cache.
  static constexpr std::size_t kStagger = 4096 + kLine, kStaggers = 512;

  static std::uintptr_t address(const void* at) { return reinterpret_cast<std::uintptr_t>(at); }
  char* take(int rank, std::size_t offset, std::size_t bytes);
  At in_arena_at(const void* address) const;

  Layout layout_;
  Backing backing_;
  char* arenas_ = nullptr;  // [rank] 2^arena_bits_ bytes, in which the arena stands somewhere
  int arena_bits_ = 0;
  std::size_t arenas_bytes_ = 0;
  char* buffers_ = nullptr;  // [rank] 2^buffer_bits_ bytes: the lower half for the rank alone, the upper for segments
  int buffer_bits_ = 0;
  std::size_t buffers_bytes_ = 0;
  std::vector<std::size_t> taken_;  // [rank] of the lower half
  struct Segment {
    std::size_t offset, bytes;  // the same on every rank
  };
  std::vector<Segment> segments_;
  std::vector<char*> segment_of_;  // [segment][rank], as teams read it
  std::vector<Team> teams_;
};

}  // namespace tutti::timed
