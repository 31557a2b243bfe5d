#include "collectives/nccl_interface/farewell.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>

#include "collectives/device_cuda.hpp"

namespace tutti::nccl_interface {
namespace {

using State = std::shared_ptr<detail::CommunicatorState>;

constexpr auto kMoment = std::chrono::milliseconds(100);

/// Held while memory is freed, and for ever once the process ends: the CUDA runtime ends with it. Never destroyed.
struct Gate {
  std::mutex mutex;
  bool ending = false;
};
Gate& gate() {
  static auto* const only = [] {
    auto* const made = new Gate;
    std::atexit([] {
      const std::lock_guard lock(gate().mutex);
      gate().ending = true;
    });
    return made;
  }();
  return *only;
}

void keep_for_ever(State state) { new State(std::move(state)); }

/// All ranks at once; `state` ends here.
void free_together(State state) {
  bool all_came = false;
  try {
    state->bootstrap->barrier();
    all_came = true;
  } catch (const Error&) {  // some rank has ended otherwise
  }
  const std::lock_guard lock(gate().mutex);
  if (gate().ending) return keep_for_ever(std::move(state));
  try {
    if (all_came) state->session->device->expect_idle(*state->bootstrap, state->members, "a communicator is destroyed");
  } catch (const Error&) {
  }
  state.reset();
}

}  // namespace

void part(State state) {
  struct Progress {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
  };
  const auto progress = std::make_shared<Progress>();
  gate();  // its exit handler comes before the thread
  try {
    std::thread([progress, state]() mutable {
      free_together(std::move(state));
      const std::lock_guard lock(progress->mutex);
      progress->done = true;
      progress->changed.notify_all();
    }).detach();
  } catch (const std::system_error&) {  // no thread to be had
    return;
  }
  state.reset();
  std::unique_lock lock(progress->mutex);
  progress->changed.wait_for(lock, kMoment, [&] { return progress->done; });
}

}  // namespace tutti::nccl_interface
