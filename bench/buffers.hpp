// The memory of a measured call.
#pragma once
#include <cstddef>

#include "bench/sizes.hpp"

namespace tutti::bench {

/// What one call works on; both null for a barrier. in == out, or one inside the other, for a call in place.
struct Buffers {
  std::byte* in = nullptr;
  std::byte* out = nullptr;
};

/// Where in a rank's two buffers `c` has its input and output.
Buffers place_buffers(const Case& c, int rank, std::byte* in, std::byte* out);

/// Memory that only this process has, aligned like memory of Communicator::allocate, on huge pages if large enough.
class OwnMemory {
 public:
  explicit OwnMemory(std::size_t bytes);
  ~OwnMemory();
  OwnMemory(OwnMemory&& other) noexcept;
  OwnMemory& operator=(OwnMemory&&) = delete;
  std::byte* data() const { return data_; }

 private:
  void* mapping_ = nullptr;
  std::size_t mapped_ = 0;
  std::byte* data_ = nullptr;
};

}  // namespace tutti::bench
