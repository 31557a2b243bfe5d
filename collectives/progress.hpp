// Drives a rank's kernels on the CPU: as plain calls where nothing else is pending, as fibers otherwise.
//
// One thread at a time drives a session, under its lock: whoever waits. The worker, made at the first asynchronous
// call, drives only while nobody waits, and sleeps when nothing is pending. Where a rank has cores to spare, the blocks
// of a call that waits for nothing else run on threads of their own, the driving one among them.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "collectives/crew.hpp"
#include "collectives/driving_lock.hpp"
#include "kernels/block_host.hpp"
#include "kernels/fiber.hpp"
#include "kernels/kernels.hpp"

namespace tutti {

/// One kernel on this rank: its blocks run to their end together.
struct Launch {
  Kernel kernel = Kernel::barrier;
  Call call;
  int blocks = 1;
  StorePolicy stores;
  Failure failure;                 ///< of the first block that failed
  std::vector<Failure> of_blocks;  ///< while it runs; each block writes its own
  bool skipped = false;
  std::vector<std::shared_ptr<void>> kept;  ///< until it has ended, see Progress::keep
  std::atomic<bool> done = false;
  int chain = 0;  ///< launches of one chain run one after the other, in the order given
};

/// The launches of one communicator, by chains.
class Launches {
 public:
  /// Called at the end of each launch, under the driver's lock; true: a later launch shall not run.
  using Ended = std::function<bool(const Launch&)>;
  Launches(const Team& team, int chains, Ended ended)
      : team_(team), chains_(static_cast<std::size_t>(chains)), ended_(std::move(ended)) {}

 private:
  friend class Progress;
  struct Running {
    std::shared_ptr<Launch> launch;
    std::vector<std::unique_ptr<Fiber>> fibers;
  };
  const Team& team_;
  std::vector<std::deque<std::shared_ptr<Launch>>> chains_;
  std::vector<Running> running_;
  Ended ended_;
  bool stopped_ = false;
};

class Progress {
 public:
  /// `spins`: polls before a wait hands its core on. `threads`: how many may run the blocks of one launch.
  Progress(int spins, int threads, std::chrono::nanoseconds timeout);
  ~Progress();

  void add(Launches* launches);
  void remove(Launches* launches);

  /// Runs one launch to its end, on the calling thread; if nothing else is pending, its blocks on the crew's too.
  void run(Launches& launches, Kernel kernel, const Call& call, int blocks, const StorePolicy& stores, int chain);
  /// Runs launches side by side to their end, on the calling thread: the worker is neither made nor woken.
  void run(Launches& launches, std::span<const std::shared_ptr<Launch>> batch);
  /// Queues launches; they run while somebody waits, and on the worker otherwise.
  void start(Launches& launches, std::span<const std::shared_ptr<Launch>> batch);
  /// Drives until all of `batch` are done.
  void wait(std::span<const std::shared_ptr<Launch>> batch);
  /// Drives once; true if all of `batch` are done.
  bool test(std::span<const std::shared_ptr<Launch>> batch);
  /// Lets go of `thing` when the launches that are pending now have ended, at once if there are none; in either case
  /// under the driver's lock, so while no kernel of this session runs.
  void keep(std::shared_ptr<void> thing);

 private:
  class Driving;
  void work();
  void step();
  void begin_next(Launches& launches, int chain);
  void end(Launch& launch);
  void run_alone(Launches& launches, Launch& launch);
  void queue(Launches& launches, const std::shared_ptr<Launch>& launch);
  void drive_until_done(std::span<const std::shared_ptr<Launch>> batch);

  const int spins_;
  Crew crew_;
  const std::chrono::nanoseconds timeout_;
  DrivingLock lock_;
  std::condition_variable_any wake_;
  std::atomic<int> waiters_ = 0;  ///< for the lock, to drive; the worker stands back
  int pending_ = 0;               ///< launches queued or running
  std::vector<Launches*> all_;
  std::thread worker_;
  bool stop_ = false;
};

}  // namespace tutti
