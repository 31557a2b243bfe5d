// The host's way to buffers that may be a GPU's.
#pragma once
#include <cstddef>
#include <vector>

#include "collectives/tutti.hpp"

namespace tutti::bench {

class HostAccess {
 public:
  /// `device`: a communicator on the GPU whose memory the buffers are; it outlives this. Null: they are host memory.
  explicit HostAccess(const Communicator* device = nullptr) : device_(device) {}

  /// Whether the host reads and writes the buffers themselves.
  bool direct() const { return device_ == nullptr; }

  /// Calls fill(at) with room for `bytes` bytes, which are in `memory` afterwards.
  template <class Write>
  void write(std::byte* memory, std::size_t bytes, Write&& fill) {
    if (!device_) return fill(memory);
    staged_.resize(bytes);
    fill(staged_.data());
    device_->copy(memory, staged_.data(), bytes);
  }

  /// look(at), where `at` has what the `bytes` bytes at `memory` hold.
  template <class Read>
  auto read(const std::byte* memory, std::size_t bytes, Read&& look) {
    if (!device_) return look(memory);
    staged_.resize(bytes);
    device_->copy(staged_.data(), memory, bytes);
    return look(static_cast<const std::byte*>(staged_.data()));
  }

 private:
  const Communicator* device_;
  std::vector<std::byte> staged_;
};

}  // namespace tutti::bench
