// What the checker keeps beside a piece of memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/emulator/check/races.hpp"

namespace tutti::emulator {

/// Granules of a piece of memory, zero and without pages until they are touched.
class Shadow {
 public:
  Shadow() = default;
  /// For so many granules.
  explicit Shadow(std::size_t granules);
  Shadow(Shadow&& other) noexcept;
  Shadow& operator=(Shadow&& other) noexcept;
  ~Shadow();

  std::size_t size() const { return size_; }
  /// Forgets all accesses. `generation` grows from call to call.
  void forget(std::uint32_t generation) { generation_ = generation; }
  /// Bytes, counted from the first granule's, that have a value after each forget().
  void initialise(std::size_t from, std::size_t bytes);

  Granule& operator[](std::size_t index) {
    Granule& granule = granules_[index];
    if (granule.generation != generation_) [[unlikely]]
      renew(granule, index);
    return granule;
  }

 private:
  void renew(Granule& granule, std::size_t index) const;

  Granule* granules_ = nullptr;
  std::size_t size_ = 0;
  std::uint32_t generation_ = 0;
  std::vector<std::uint8_t> initialised_;  // of each granule; shorter: the rest is 0
};

}  // namespace tutti::emulator
