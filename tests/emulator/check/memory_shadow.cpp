#include "tests/emulator/check/memory_shadow.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

namespace tutti::emulator {

Shadow::Shadow(std::size_t granules) : size_(granules) {
  if (granules == 0) return;
  void* const pages = mmap(nullptr, granules * sizeof(Granule), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  granules_ = static_cast<Granule*>(pages);
}

Shadow::Shadow(Shadow&& other) noexcept { *this = std::move(other); }

Shadow& Shadow::operator=(Shadow&& other) noexcept {
  std::swap(granules_, other.granules_);
  std::swap(size_, other.size_);
  std::swap(generation_, other.generation_);
  std::swap(initialised_, other.initialised_);
  return *this;
}

Shadow::~Shadow() {
  if (granules_) munmap(granules_, size_ * sizeof(Granule));
}

void Shadow::initialise(std::size_t from, std::size_t bytes) {
  if (bytes == 0) return;
  const std::size_t end = from + bytes;
  if (initialised_.size() < (end + 7) / 8) initialised_.resize((end + 7) / 8);
  for (std::size_t i = from / 8; i < (end + 7) / 8; ++i) {
    const std::size_t first = std::max(from, i * 8) - i * 8, last = std::min(end, i * 8 + 8) - i * 8;
    const auto mask = static_cast<std::uint8_t>(((1u << (last - first)) - 1) << first);
    initialised_[i] |= mask;
    if (granules_[i].generation == generation_) granules_[i].initialised |= mask;
  }
}

void Shadow::renew(Granule& granule, std::size_t index) const {
  granule.generation = generation_;
  granule.location = 0;
  granule.writes.size = granule.reads.size = granule.writes.capacity = granule.reads.capacity = 0;
  granule.unread = 0;
  granule.initialised = index < initialised_.size() ? initialised_[index] : std::uint8_t{0};
}

}  // namespace tutti::emulator
