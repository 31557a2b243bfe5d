#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "tests/emulator/runtime/address_space.hpp"

namespace tutti::emulated {

/// What is known of an event, in memory that other processes may map.
struct EventState {
  std::atomic<std::uint64_t> recorded{0};   ///< records asked for
  std::atomic<std::uint64_t> completed{0};  ///< the latest of them that has happened
  std::atomic<std::int64_t> when{0};        ///< of that one, in nanoseconds of the machine's monotonic clock
  std::atomic<std::uint32_t> changes{0};    ///< what those who wait sleep on
};

class Event {
 public:
  /// A flag cudaEventInterprocess puts the state into a file that another process can open.
  Event(int device, unsigned flags);
  /// The event of another process, by its file.
  Event(int device, MemoryFile file);
  ~Event();

  /// Takes the number of a record that will be complete()d.
  std::uint64_t ask() { return state_->recorded.fetch_add(1) + 1; }
  void complete(std::uint64_t ticket);
  std::uint64_t asked() const { return state_->recorded.load(); }
  bool happened(std::uint64_t ticket) const { return state_->completed.load(std::memory_order_acquire) >= ticket; }
  /// Blocks until the record has happened, or `given_up` (looked at every few milliseconds) is true; whether it has.
  bool wait(std::uint64_t ticket, const std::atomic<bool>* given_up = nullptr) const;

  int device() const { return device_; }
  unsigned flags() const { return flags_; }
  std::int64_t when() const { return state_->when.load(); }
  int file() const { return file_.file(); }

  /// Of the capture that recorded it last, for that capture alone to read; null if a stream really recorded it.
  std::shared_ptr<void> captured;

 private:
  int device_;
  unsigned flags_;
  MemoryFile file_;
  EventState* state_;
};

/// The event of a handle; throws Failure(cudaErrorInvalidResourceHandle) for what is none.
std::shared_ptr<Event> event_of(cudaEvent_t handle);
cudaEvent_t enter_event(std::shared_ptr<Event> event);
std::shared_ptr<Event> remove_event(cudaEvent_t handle);
/// When a device is reset.
void forget_events_of(int device);

}  // namespace tutti::emulated
