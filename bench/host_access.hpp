// The host's way to buffers that may be a GPU's.
#pragma once
#include <cstddef>
#include <functional>
#include <vector>

namespace tutti::bench {

class HostAccess {
 public:
  /// `copy`: between host memory and the buffers, in either direction; it returns when it is done. None: the buffers
  /// are host memory.
  using Copy = std::function<void(void* to, const void* from, std::size_t bytes)>;
  explicit HostAccess(Copy copy = {}) : copy_(std::move(copy)) {}

  /// Whether the host reads and writes the buffers themselves.
  bool direct() const { return !copy_; }

  /// Calls fill(at) with room for `bytes` bytes, which are in `memory` afterwards.
  template <class Write>
  void write(std::byte* memory, std::size_t bytes, Write&& fill) {
    if (direct()) return fill(memory);
    staged_.resize(bytes);
    fill(staged_.data());
    copy_(memory, staged_.data(), bytes);
  }

  /// look(at), where `at` has what the `bytes` bytes at `memory` hold.
  template <class Read>
  auto read(const std::byte* memory, std::size_t bytes, Read&& look) {
    if (direct()) return look(memory);
    staged_.resize(bytes);
    copy_(staged_.data(), memory, bytes);
    return look(static_cast<const std::byte*>(staged_.data()));
  }

 private:
  Copy copy_;
  std::vector<std::byte> staged_;
};

}  // namespace tutti::bench
