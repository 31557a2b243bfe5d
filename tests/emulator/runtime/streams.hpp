#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/emulator/runtime/operations.hpp"

namespace tutti::emulated {

class Capture;
class Device;
class Stream;

/// All that a stream was given up to its ticket-th operation.
struct Point {
  std::shared_ptr<Stream> stream;
  std::uint64_t ticket = 0;
};

/// A queue of operations that one thread, made at the first, performs in order.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  enum class Kind { legacy, per_thread, created };

  Stream(Device& device, Kind kind, unsigned flags, int priority);

  /// Queues the operation behind all that came before, and behind `after`. Use Device::submit, which knows the order
  /// between streams.
  Point push(Operation operation, std::vector<Point> after);
  /// Nothing more will come: the thread ends when the queue is empty.
  void close();
  /// Blocks until the ticket-th operation has ended.
  void wait(std::uint64_t ticket);
  bool ended(std::uint64_t ticket) const { return ended_.load(std::memory_order_acquire) >= ticket; }
  std::uint64_t given() const { return given_.load(std::memory_order_acquire); }

  Device& device() const { return device_; }
  Kind kind() const { return kind_; }
  unsigned flags() const { return flags_; }
  int priority() const { return priority_; }
  std::uint64_t number() const { return number_; }
  /// Does it take turns with the legacy default stream?
  bool blocking() const { return !(flags_ & cudaStreamNonBlocking); }

  /// Where its work goes instead while it is captured; null while it is not.
  std::shared_ptr<Capture> capture() const;
  void set_capture(std::shared_ptr<Capture> capture);

 private:
  struct Queued {
    Operation operation;
    std::vector<Point> after;
  };
  void work();

  Device& device_;
  const Kind kind_;
  const unsigned flags_;
  const int priority_;
  const std::uint64_t number_;
  mutable std::mutex mutex_;
  std::condition_variable more_, less_;
  std::deque<Queued> queue_;
  bool has_worker_ = false, closed_ = false;
  std::atomic<std::uint64_t> given_{0}, ended_{0};
  std::shared_ptr<Capture> capture_;
};

/// The stream that a handle names for the calling thread and its current device: one that was created, or a default
/// stream. Throws Failure(cudaErrorInvalidResourceHandle).
std::shared_ptr<Stream> stream_of(cudaStream_t handle);

/// What the `_ptsz` entry points make of the handle 0.
inline cudaStream_t per_thread(cudaStream_t handle) { return handle ? handle : cudaStreamPerThread; }

/// Gives the operation to the stream, or to its capture.
void submit(const std::shared_ptr<Stream>& stream, Operation operation);
/// The same, and waits until it has ended; throws what went wrong on the device.
void submit_and_wait(const std::shared_ptr<Stream>& stream, Operation operation);

}  // namespace tutti::emulated
