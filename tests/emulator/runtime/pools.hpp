#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "tests/emulator/runtime/memory.hpp"

namespace tutti::emulated {

/// Where stream-ordered memory of one device comes from, and which other devices may touch it. It keeps nothing back:
/// freed memory is the device's again.
class MemoryPool {
 public:
  explicit MemoryPool(int device) : device_(device) {}

  int device() const { return device_; }
  std::uint64_t readers() const { return readers_; }
  std::uint64_t writers() const { return writers_; }
  void set_access(int device, bool reads, bool writes);

  std::uint64_t used() const { return used_; }
  std::uint64_t used_high() const { return used_high_; }
  void reset_high() { used_high_ = used_.load(); }
  void add(std::uint64_t bytes);
  void subtract(std::uint64_t bytes) { used_ -= bytes; }

  std::atomic<std::uint64_t> release_threshold{0};
  std::atomic<int> reuse_follows_events{1}, reuse_when_possible{1}, reuse_adds_dependencies{1};

 private:
  const int device_;
  std::atomic<std::uint64_t> readers_{0}, writers_{0};
  std::atomic<std::uint64_t> used_{0}, used_high_{0};
};

/// The pool that cudaMallocAsync uses on the device now.
std::shared_ptr<MemoryPool> current_pool(int device);
/// Memory of the pool, at once: nothing in a stream's order can tell.
AllocationPointer allocate_from(const std::shared_ptr<MemoryPool>& pool, std::size_t bytes);

}  // namespace tutti::emulated
