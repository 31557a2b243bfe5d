// Runs the blocks of one launch in turn, on one thread of the host: each thread of each block goes on until it has done
// a strong access or waits. Launches of other streams, devices and processes run beside it.
#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/emulator/machine/machine.hpp"
#include "tests/emulator/runtime/devices.hpp"
#include "tests/emulator/runtime/errors.hpp"
#include "tests/emulator/runtime/kernel_memory.hpp"
#include "tests/emulator/runtime/launch.hpp"
#include "tests/emulator/runtime/modules.hpp"
#include "tests/emulator/runtime/settings.hpp"

namespace tutti::emulated {
namespace {

using emulator::Stop;
using emulator::Thread;

/// Instructions that a thread runs at most before the others have their turn.
constexpr std::uint32_t kBurst = 10'000;

/// Waits ever longer while all that is run is waiting for somebody else. Yielding is quick where there is a core for
/// everyone; where others want the core, who sleeps is let back sooner than who yields.
class Patience {
 public:
  Patience() { prctl(PR_SET_TIMERSLACK, 1000); }  // of this thread, in nanoseconds

  void lose() {
    using namespace std::chrono;
    if (yields_ > 0) {
      const auto before = steady_clock::now();
      sched_yield();
      --yields_;
      if (steady_clock::now() - before > microseconds(100)) yields_ = 0;
      return;
    }
    std::this_thread::sleep_for(microseconds(std::min(++sleeps_ * 10, 200)));
  }
  void regain() {
    yields_ = kYields;
    sleeps_ = 0;
  }

 private:
  static constexpr int kYields = 50;
  int yields_ = kYields, sleeps_ = 0;
};

class Run {
 public:
  Run(const KernelLaunch& launch, Device& device)
      : device_(device),
        memory_(device.index()),
        machine_(memory_),
        needs_(needs_of(*launch.kernel,
                        static_cast<int>(std::uint64_t{launch.block.x} * launch.block.y * launch.block.z),
                        launch.dynamic_shared)),
        cooperative_(launch.cooperative) {
    static std::atomic<std::uint64_t> launches{0};
    launch_.image = &device.instance_of(launch.kernel->binary()).image();
    launch_.function = &launch.kernel->code();
    launch_.grid = {launch.grid.x, launch.grid.y, launch.grid.z};
    launch_.block = {launch.block.x, launch.block.y, launch.block.z};
    launch_.parameters = launch.parameters;
    launch_.dynamic_shared = static_cast<std::uint32_t>(launch.dynamic_shared);
    launch_.grid_id = ++launches;
    launch_.device = device.index();
    launch_.multiprocessors = static_cast<std::uint32_t>(settings().multiprocessors);
  }
  ~Run() {
    for (const Resident& resident : residents_) device_.residency().leave(resident.multiprocessor, needs_);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  void all() {
    Patience patience;
    while (!device_.failed() && (started_ < launch_.grid.product() || !residents_.empty())) {
      const bool admitted = admit();
      const bool moved = round();
      if (admitted || moved)
        patience.regain();
      else
        patience.lose();
    }
  }

 private:
  struct Resident {
    std::unique_ptr<emulator::Block> block;
    int multiprocessor;
  };

  /// Starts blocks while there is room for them.
  bool admit() {
    const std::uint64_t blocks = launch_.grid.product();
    bool any = false;
    if (cooperative_ && started_ == 0)
      for (const int place : device_.residency().admit_all(needs_, static_cast<int>(blocks))) start(place), any = true;
    while (!cooperative_ && started_ < blocks) {
      const int place = device_.residency().admit(needs_);
      if (place < 0) break;
      start(place);
      any = true;
    }
    return any;
  }

  void start(int place) {
    const std::uint64_t n = started_++;
    const auto& grid = launch_.grid;
    const emulator::Dim3 index{static_cast<std::uint32_t>(n % grid.x), static_cast<std::uint32_t>(n / grid.x % grid.y),
                               static_cast<std::uint32_t>(n / grid.x / grid.y)};
    residents_.push_back({nullptr, place});
    residents_.back().block =
        std::make_unique<emulator::Block>(launch_, index, next_thread_, static_cast<std::uint32_t>(place));
    next_thread_ += static_cast<std::uint32_t>(launch_.block.product());
  }

  /// A turn for every thread; whether anything came of it.
  bool round() {
    const std::uint64_t before = memory_.changes();
    bool computed = false;
    for (Resident& resident : residents_)
      for (Thread& thread : resident.block->threads()) {
        if (thread.state != Thread::State::ready) continue;
        const Stop stop = machine_.run(thread, kBurst);
        computed |= stop == Stop::budget || stop == Stop::waits || stop == Stop::done;
      }
    std::erase_if(residents_, [&](const Resident& resident) {
      if (!resident.block->done()) return false;
      device_.residency().leave(resident.multiprocessor, needs_);
      return true;
    });
    return computed || memory_.changes() != before;
  }

  Device& device_;
  KernelMemory memory_;
  emulator::Machine<KernelMemory> machine_;
  const BlockNeeds needs_;
  const bool cooperative_;
  emulator::Launch launch_;
  std::vector<Resident> residents_;
  std::uint64_t started_ = 0;
  std::uint32_t next_thread_ = 0;
};

cudaError_t code_of(const emulator::Fault& fault) {
  const std::string_view what = fault.what();
  if (what.starts_with("misaligned")) return cudaErrorMisalignedAddress;
  if (what.starts_with("out of bounds")) return cudaErrorIllegalAddress;
  return cudaErrorLaunchFailure;
}

}  // namespace

void run(const KernelLaunch& launch, Device& device) {
  try {
    Run(launch, device).all();
  } catch (const IllegalAddress& fault) {
    throw DeviceFault(cudaErrorIllegalAddress, fault.what());
  } catch (const emulator::AssertionFailed& fault) {
    std::fprintf(stderr, "%s\n", fault.report().c_str());
    throw DeviceFault(cudaErrorAssert, fault.what());
  } catch (const emulator::Fault& fault) {
    throw DeviceFault(code_of(fault), fault.what());
  } catch (const std::runtime_error& error) {
    // What the emulator does not know would be found anywhere else only by wrong results.
    give_up(error.what());
  }
}

}  // namespace tutti::emulated
