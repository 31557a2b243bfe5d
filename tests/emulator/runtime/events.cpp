#include "tests/emulator/runtime/events.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>
#include <map>
#include <mutex>
#include <new>

#include "tests/emulator/runtime/errors.hpp"

namespace tutti::emulated {
namespace {

std::int64_t nanoseconds_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Not the private kind of futex: another process may wait as well.
void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value, long nanoseconds) {
  const timespec limit{0, nanoseconds};
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT, value, &limit, nullptr, 0);
}

void wake_all(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

EventState* map_state(const MemoryFile& file) {
  void* place = mmap(nullptr, sizeof(EventState), PROT_READ | PROT_WRITE, MAP_SHARED, file.file(), 0);
  if (place == MAP_FAILED) throw Failure(cudaErrorMapBufferObjectFailed);
  return static_cast<EventState*>(place);
}

struct Handles {
  std::mutex mutex;
  std::map<cudaEvent_t, std::shared_ptr<Event>> events;
};

Handles& handles() {
  static Handles* const all = new Handles;
  return *all;
}

}  // namespace

Event::Event(int device, unsigned flags) : device_(device), flags_(flags) {
  if (flags & cudaEventInterprocess) {
    file_ = MemoryFile(sizeof(EventState));
    // A new file is zeros, which is what a new state is.
    state_ = map_state(file_);
  } else {
    state_ = new EventState;
  }
}

Event::Event(int device, MemoryFile file)
    : device_(device),
      flags_(cudaEventInterprocess | cudaEventDisableTiming),
      file_(std::move(file)),
      state_(map_state(file_)) {}

Event::~Event() {
  if (file_.file() >= 0)
    munmap(state_, sizeof(EventState));
  else
    delete state_;
}

void Event::complete(std::uint64_t ticket) {
  std::uint64_t before = state_->completed.load();
  while (before < ticket) {
    state_->when.store(nanoseconds_now());
    if (state_->completed.compare_exchange_weak(before, ticket)) break;
  }
  state_->changes.fetch_add(1);
  wake_all(state_->changes);
}

bool Event::wait(std::uint64_t ticket, const std::atomic<bool>* given_up) const {
  for (int looks = 0; !happened(ticket); ++looks) {
    if (given_up && given_up->load(std::memory_order_acquire)) return false;
    constexpr int kYields = 20;
    if (looks < kYields) {
      sched_yield();
      continue;
    }
    const std::uint32_t seen = state_->changes.load();
    if (happened(ticket)) break;
    sleep_while(state_->changes, seen, 5'000'000);
  }
  return true;
}

std::shared_ptr<Event> event_of(cudaEvent_t handle) {
  Handles& all = handles();
  std::lock_guard lock(all.mutex);
  const auto found = all.events.find(handle);
  require(found != all.events.end(), cudaErrorInvalidResourceHandle);
  return found->second;
}

cudaEvent_t enter_event(std::shared_ptr<Event> event) {
  Handles& all = handles();
  std::lock_guard lock(all.mutex);
  const auto handle = reinterpret_cast<cudaEvent_t>(event.get());
  all.events[handle] = std::move(event);
  return handle;
}

std::shared_ptr<Event> remove_event(cudaEvent_t handle) {
  std::shared_ptr<Event> event = event_of(handle);
  Handles& all = handles();
  std::lock_guard lock(all.mutex);
  all.events.erase(handle);
  return event;
}

void forget_events_of(int device) {
  Handles& all = handles();
  std::lock_guard lock(all.mutex);
  std::erase_if(all.events, [&](const auto& entry) { return entry.second->device() == device; });
}

}  // namespace tutti::emulated
