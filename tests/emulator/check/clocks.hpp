// Vector clocks: how much of every thread's past a thread knows.
//
// A thread's own time grows whenever it hands its knowledge on (release, fence, barrier). What thread u did at its time
// c happens before what thread t does now if t knows u up to c. Threads that met at a barrier know the same, so they
// share one clock and copy it when they learn more.
#pragma once
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace tutti::emulator {

using ThreadId = std::uint32_t;
using Time = std::uint32_t;

class VectorClockPool;

/// A clock that several may share. Empty: knows nothing.
class VectorClock {
 public:
  VectorClock() = default;
  VectorClock(const VectorClock& other) : body_(other.body_) {
    if (body_) ++body_->owners;
  }
  VectorClock(VectorClock&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
  VectorClock& operator=(VectorClock other) noexcept {
    std::swap(body_, other.body_);
    return *this;
  }
  ~VectorClock() { release(); }

  explicit operator bool() const { return body_ != nullptr; }
  bool operator==(const VectorClock& other) const { return body_ == other.body_; }
  Time of(ThreadId thread) const { return body_ ? body_->times[thread] : 0; }

 private:
  friend class VectorClockPool;
  struct Body {
    std::uint32_t owners;
    VectorClockPool* pool;
    std::unique_ptr<Time[]> times;
  };
  explicit VectorClock(Body* body) : body_(body) {}
  void release();

  Body* body_ = nullptr;
};

/// Makes clocks of one number of threads and keeps those that are no longer used.
class VectorClockPool {
 public:
  VectorClockPool() = default;
  VectorClockPool(const VectorClockPool&) = delete;
  VectorClockPool& operator=(const VectorClockPool&) = delete;

  /// From now on for so many threads. There must be no clocks left.
  void resize(std::uint32_t threads);
  std::uint32_t threads() const { return threads_; }

  /// `clock` knows all that it knew, and what `other` knows.
  void join(VectorClock& clock, const VectorClock& other);
  /// `clock` knows `thread` up to `time`.
  void learn(VectorClock& clock, ThreadId thread, Time time);

 private:
  friend class VectorClock;
  VectorClock make();                          // its times are not set
  VectorClock::Body* own(VectorClock& clock);  // nobody else sees it
  void take_back(VectorClock::Body* body) { free_.push_back(body); }

  std::uint32_t threads_ = 0;
  std::vector<std::unique_ptr<VectorClock::Body>> all_;
  std::vector<VectorClock::Body*> free_;
};

inline void VectorClock::release() {
  if (body_ && --body_->owners == 0) body_->pool->take_back(body_);
}

}  // namespace tutti::emulator
