#include "collectives/progress.hpp"

#include <sched.h>

#include <algorithm>
#include <mutex>

namespace tutti {
namespace {

void yield_core(void*) { sched_yield(); }
void yield_fiber(void*) { Fiber::yield(); }

bool all_done(std::span<const std::shared_ptr<Launch>> batch) {
  return std::all_of(batch.begin(), batch.end(),
                     [](const auto& launch) { return launch->done.load(std::memory_order_acquire); });
}

}  // namespace

/// The right to drive. Who does not have it at once says so, so that the worker lets go.
class Progress::Driving {
 public:
  explicit Driving(Progress& progress) : progress_(progress) {
    if (progress_.lock_.try_lock()) return;
    progress_.waiters_.fetch_add(1, std::memory_order_relaxed);
    progress_.lock_.lock();
    progress_.waiters_.fetch_sub(1, std::memory_order_relaxed);
  }
  ~Driving() {
    const bool hand_over = progress_.pending_ > 0;
    progress_.lock_.unlock();
    if (hand_over) progress_.wake_.notify_one();
  }

 private:
  Progress& progress_;
};

Progress::Progress(int spins, int threads, std::chrono::nanoseconds timeout)
    : spins_(spins), crew_(threads), timeout_(timeout) {}

Progress::~Progress() {
  {
    const std::lock_guard lock(lock_);
    stop_ = true;
  }
  wake_.notify_one();
  if (worker_.joinable()) worker_.join();
}

void Progress::add(Launches* launches) {
  const std::lock_guard lock(lock_);
  all_.push_back(launches);
}

void Progress::remove(Launches* launches) {
  const std::lock_guard lock(lock_);
  std::erase(all_, launches);
}

void Progress::run(Launches& launches, Kernel kernel, const Call& call, int blocks, const StorePolicy& stores,
                   int chain) {
  const Driving driving(*this);
  if (pending_ == 0 && blocks == 1) {
    HostBlock block(launches.team_, call, 0, 1,
                    {.spins = spins_, .pause = yield_core, .timeout = timeout_, .announced = false}, stores);
    run_kernel(kernel, block, call);
    block.announce_once();
    if (block.failure().kind == Failure::Kind::none) return;
    Launch launch;
    launch.kernel = kernel;
    launch.call = call;
    launch.failure = block.failure();
    launches.stopped_ |= launches.ended_(launch);
    return;
  }
  auto launch = std::make_shared<Launch>();
  launch->kernel = kernel;
  launch->call = call;
  launch->blocks = blocks;
  launch->stores = stores;
  launch->chain = chain;
  if (pending_ == 0 && crew_.has_threads_for(blocks)) return run_alone(launches, *launch);
  queue(launches, launch);
  drive_until_done(std::span(&launch, 1));
}

/// Each block on a thread of its own: nothing else is pending, and nothing will be before the lock is free again.
void Progress::run_alone(Launches& launches, Launch& launch) {
  announce(launches.team_, launch.call);
  launch.of_blocks.resize(static_cast<std::size_t>(launch.blocks));
  crew_.run(launch.blocks, [&](int b) {
    HostBlock block(launches.team_, launch.call, b, launch.blocks,
                    {.spins = spins_, .pause = yield_core, .timeout = timeout_}, launch.stores);
    run_kernel(launch.kernel, block, launch.call);
    launch.of_blocks[static_cast<std::size_t>(b)] = block.failure();
  });
  for (const Failure& failure : launch.of_blocks)
    if (launch.failure.kind == Failure::Kind::none) launch.failure = failure;
  if (launch.failure.kind != Failure::Kind::none) launches.stopped_ |= launches.ended_(launch);
}

void Progress::run(Launches& launches, std::span<const std::shared_ptr<Launch>> batch) {
  const Driving driving(*this);
  for (const auto& launch : batch) queue(launches, launch);
  drive_until_done(batch);
}

void Progress::start(Launches& launches, std::span<const std::shared_ptr<Launch>> batch) {
  const Driving driving(*this);
  for (const auto& launch : batch) queue(launches, launch);
  step();
  if (!worker_.joinable()) worker_ = std::thread([this] { work(); });
}

void Progress::wait(std::span<const std::shared_ptr<Launch>> batch) {
  if (all_done(batch)) return;
  const Driving driving(*this);
  drive_until_done(batch);
}

bool Progress::test(std::span<const std::shared_ptr<Launch>> batch) {
  if (all_done(batch)) return true;
  const Driving driving(*this);
  step();
  return all_done(batch);
}

void Progress::keep(std::shared_ptr<void> thing) {
  const Driving driving(*this);
  for (Launches* launches : all_)
    for (const auto& chain : launches->chains_)
      for (const auto& launch : chain) launch->kept.push_back(thing);
  thing.reset();
}

void Progress::queue(Launches& launches, const std::shared_ptr<Launch>& launch) {
  ++pending_;
  auto& chain = launches.chains_[static_cast<std::size_t>(launch->chain)];
  chain.push_back(launch);
  if (chain.size() == 1) begin_next(launches, launch->chain);
}

/// Makes the fibers of the launch at the front of `chain`; skips the launches of a communicator that has failed.
void Progress::begin_next(Launches& launches, int index) {
  auto& chain = launches.chains_[static_cast<std::size_t>(index)];
  while (!chain.empty() && launches.stopped_) {
    chain.front()->skipped = true;
    end(*chain.front());
    chain.pop_front();
  }
  if (chain.empty()) return;
  const auto& launch = chain.front();
  announce(launches.team_, launch->call);
  launch->of_blocks.resize(static_cast<std::size_t>(launch->blocks));
  Launches::Running running{launch, {}};
  for (int b = 0; b < launch->blocks; ++b)
    running.fibers.push_back(std::make_unique<Fiber>([this, &team = launches.team_, launch, b] {
      const int spins = launch->blocks == 1 ? std::min(spins_, 50) : 1;  // short: other fibers may be what it waits for
      HostBlock block(team, launch->call, b, launch->blocks,
                      {.spins = spins, .pause = yield_fiber, .timeout = timeout_}, launch->stores);
      run_kernel(launch->kernel, block, launch->call);
      launch->of_blocks[static_cast<std::size_t>(b)] = block.failure();
    }));
  launches.running_.push_back(std::move(running));
}

void Progress::end(Launch& launch) {
  --pending_;
  launch.kept.clear();
  launch.done.store(true, std::memory_order_release);
}

/// Resumes every fiber once, and ends the launches whose fibers have all ended.
void Progress::step() {
  for (Launches* launches : all_) {
    for (std::size_t i = 0; i < launches->running_.size(); ++i)
      for (auto& fiber : launches->running_[i].fibers)
        if (!fiber->done()) fiber->resume();
    for (std::size_t i = 0; i < launches->running_.size();) {
      auto& running = launches->running_[i];
      if (!std::all_of(running.fibers.begin(), running.fibers.end(), [](const auto& f) { return f->done(); })) {
        ++i;
        continue;
      }
      const std::shared_ptr<Launch> launch = running.launch;
      launches->running_.erase(launches->running_.begin() + static_cast<std::ptrdiff_t>(i));
      for (const Failure& failure : launch->of_blocks)
        if (launch->failure.kind == Failure::Kind::none) launch->failure = failure;
      launches->stopped_ |= launches->ended_(*launch);
      launches->chains_[static_cast<std::size_t>(launch->chain)].pop_front();
      end(*launch);
      begin_next(*launches, launch->chain);
    }
  }
}

void Progress::drive_until_done(std::span<const std::shared_ptr<Launch>> batch) {
  for (int steps = 1;; ++steps) {
    step();
    if (all_done(batch)) return;
    if (spins_ < 100 || steps % 16 == 0) sched_yield();
  }
}

void Progress::work() {
  constexpr auto kShortest = std::chrono::microseconds(20), kLongest = std::chrono::microseconds(500);
  auto nap = kShortest;
  std::unique_lock lock(lock_);
  while (true) {
    wake_.wait(lock, [&] { return stop_ || (pending_ > 0 && waiters_.load(std::memory_order_relaxed) == 0); });
    if (stop_) return;
    const int before = pending_;
    step();
    if (pending_ != before) {
      nap = kShortest;
      continue;
    }
    // Nothing ended: let the rank compute, and come back; longer each time.
    lock.unlock();
    std::this_thread::sleep_for(nap);
    nap = std::min(kLongest, nap * 2);
    lock.lock();
  }
}

}  // namespace tutti
