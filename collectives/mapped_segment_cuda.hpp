// A segment of device memory as one rank holds it: where each rank's share is mapped here, and what keeps it so.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collectives/segments_cuda.hpp"

namespace tutti {

class MappedSegment : public SharedSegment {
 public:
  using Thing = detail::RetiredMemory::Thing;

  /// Collective over the members, who agree on the segment's name.
  MappedSegment(const Members& members, std::shared_ptr<detail::DeviceSession> device);
  /// Puts everything aside: peers may be inside calls that reach it.
  ~MappedSegment() override;

  char* base(int rank) const override { return bases_[static_cast<std::size_t>(rank)]; }
  std::size_t bytes(int rank) const override { return bytes_[static_cast<std::size_t>(rank)]; }

  char* multicast() const override { return multicast_; }

  /// Rank `rank`'s share is at `base` here.
  void set(int rank, char* base, std::size_t bytes);
  /// The switch reaches every share at `base`, as long as `thing` lives.
  void set_multicast(char* base, Thing thing);
  detail::RetiredMemory::Holding& holding() { return holding_; }

 private:
  std::shared_ptr<detail::DeviceSession> device_;
  detail::SegmentKey key_;
  RankSet members_;
  std::vector<char*> bases_;
  std::vector<std::size_t> bytes_;
  char* multicast_ = nullptr;
  detail::RetiredMemory::Holding holding_;
};

/// Hands each thread's `mine` to all ranks, which are threads of one process.
std::vector<MappedSegment::Thing> hand_over(Bootstrap& bootstrap, MappedSegment::Thing mine);

/// A peer's allocation, opened by its handle.
MappedSegment::Thing open_by_handle(const cudaIpcMemHandle_t& handle, int device, int rank);

}  // namespace tutti
