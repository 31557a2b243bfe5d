#include "tests/emulator/check/clocks.hpp"

#include <algorithm>
#include <stdexcept>

namespace tutti::emulator {

void VectorClockPool::resize(std::uint32_t threads) {
  if (free_.size() != all_.size()) throw std::logic_error("clocks of another run are still in use");
  if (threads == threads_) return;
  threads_ = threads;
  all_.clear();
  free_.clear();
}

VectorClock VectorClockPool::make() {
  if (free_.empty()) {
    all_.push_back(std::make_unique<VectorClock::Body>(
        VectorClock::Body{0, this, std::make_unique_for_overwrite<Time[]>(threads_)}));
    free_.push_back(all_.back().get());
  }
  VectorClock::Body* const body = free_.back();
  free_.pop_back();
  body->owners = 1;
  return VectorClock(body);
}

VectorClock::Body* VectorClockPool::own(VectorClock& clock) {
  if (clock.body_ && clock.body_->owners == 1) return clock.body_;
  VectorClock copy = make();
  if (clock.body_)
    std::copy_n(clock.body_->times.get(), threads_, copy.body_->times.get());
  else
    std::fill_n(copy.body_->times.get(), threads_, Time{0});
  clock = std::move(copy);
  return clock.body_;
}

void VectorClockPool::join(VectorClock& clock, const VectorClock& other) {
  if (!other || clock == other) return;
  if (!clock) {
    clock = other;
    return;
  }
  const Time* const from = other.body_->times.get();
  Time* const to = own(clock)->times.get();
  for (std::uint32_t i = 0; i < threads_; ++i) to[i] = std::max(to[i], from[i]);
}

void VectorClockPool::learn(VectorClock& clock, ThreadId thread, Time time) {
  if (clock.of(thread) >= time) return;
  own(clock)->times[thread] = time;
}

}  // namespace tutti::emulator
