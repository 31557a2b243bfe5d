#include "collectives/gpu_placement.hpp"

#include <algorithm>
#include <map>

namespace tutti {
namespace {

/// Kuhn's matching of ranks to places on GPUs, each of which has `capacity` places.
class Placement {
 public:
  Placement(std::span<const std::vector<GpuId>> visible, std::size_t capacity)
      : visible_(visible), capacity_(capacity), placed_(visible.size(), -1) {}

  /// Finds a place for `rank`, for which others may have to move.
  bool place(std::size_t rank) {
    std::vector<GpuId> asked;
    return place(rank, asked);
  }
  std::vector<int> placed() && { return std::move(placed_); }

 private:
  bool place(std::size_t rank, std::vector<GpuId>& asked) {
    const std::vector<GpuId>& mine = visible_[rank];
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const std::size_t number = (rank + i) % mine.size();
      const GpuId& gpu = mine[number];
      if (std::find(asked.begin(), asked.end(), gpu) != asked.end()) continue;
      asked.push_back(gpu);
      std::vector<std::size_t>& guests = guests_[gpu];
      if (guests.size() < capacity_) {
        guests.push_back(rank);
        placed_[rank] = static_cast<int>(number);
        return true;
      }
      for (std::size_t& guest : guests) {
        if (!place(guest, asked)) continue;
        guest = rank;
        placed_[rank] = static_cast<int>(number);
        return true;
      }
    }
    return false;
  }

  std::span<const std::vector<GpuId>> visible_;
  std::size_t capacity_;
  std::vector<int> placed_;
  std::map<GpuId, std::vector<std::size_t>> guests_;
};

}  // namespace

std::vector<int> place_ranks(std::span<const std::vector<GpuId>> visible) {
  for (std::size_t capacity = 1;; ++capacity) {
    Placement placement(visible, capacity);
    bool all = true;
    for (std::size_t rank = 0; rank < visible.size() && all; ++rank) all = placement.place(rank);
    if (all) return std::move(placement).placed();
  }
}

int ranks_beside(std::span<const std::vector<GpuId>> visible, std::span<const int> placed, int rank) {
  const auto gpu_of = [&](std::size_t r) { return visible[r][static_cast<std::size_t>(placed[r])]; };
  const GpuId mine = gpu_of(static_cast<std::size_t>(rank));
  int count = 0;
  for (std::size_t r = 0; r < placed.size(); ++r) count += gpu_of(r) == mine;
  return count;
}

}  // namespace tutti
