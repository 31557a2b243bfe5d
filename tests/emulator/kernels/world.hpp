// The ranks of a communicator, each with a GPU of its own: what their kernels find in memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/failure_cuda.hpp"
#include "tests/emulator/check/memory.hpp"
#include "tests/emulator/kernels/kernel_code.hpp"

namespace tutti::emulator {

class World {
 public:
  World(CheckedMemory& memory, const Geometry& geometry);
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  const Geometry& geometry() const { return layout_.geometry; }
  const Team& team(int rank) const { return teams_[static_cast<std::size_t>(rank)]; }
  Reports reports(int rank) const;

  /// Memory of `rank` that its peers do not reach. The host has filled it before each run.
  char* allocate(int rank, std::size_t bytes);
  /// Memory on every rank that all reach; its number.
  int allocate_segment(std::size_t bytes);
  char* segment(int number, int rank) const;
  /// Where the peers find `at`: nowhere if it is in no segment.
  tutti::Place place_of(const void* at) const;
  /// Where a switch reaches what stands at `at` in a segment, and at the same place of all ranks.
  char* multicast_of(const void* at) const;
  /// One for each segment.
  std::span<const MulticastWindow> windows() const { return windows_; }
  /// The module on the rank's GPU, with its variables.
  const Image* image(int rank, const Module& module);

  /// Everything as after the communicator's creation, with so many calls by packets behind it.
  void reset(std::uint64_t packet_uses);
  /// What a kernel of the rank reported, or nothing.
  std::string failure(int rank) const;

 private:
  struct Segment {
    std::size_t bytes;
    std::vector<char*> bases;  // [rank]
  };
  char* take(const std::string& name, int rank, std::size_t bytes, bool all_map, bool read_only = false);
  void name_parts(int rank);

  CheckedMemory& memory_;
  Layout layout_;
  std::deque<std::vector<std::byte>> storage_;
  std::vector<Segment> segments_;
  std::vector<MulticastWindow> windows_;  // [segment]
  std::vector<char*> tables_;             // [rank] the table of segments that the rank's kernels read
  std::vector<Team> teams_;
  std::vector<std::uint64_t*> failed_;  // [rank] Reports
  std::vector<FailureRecord*> records_;
  struct Loaded {
    int rank;
    Image image;
  };
  std::deque<Loaded> images_;
};

}  // namespace tutti::emulator
