#include "bench/meeting_point.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>

namespace tutti::bench {
namespace {

// The lines of a rank's share, one flag each.
enum Line { kMeeting, kExchange, kDone, kResult, kLines };
constexpr std::size_t kLineBytes = 256;  // beyond what a core fetches beside a line that it reads

int cores() {
  cpu_set_t mask;
  return sched_getaffinity(0, sizeof mask, &mask) == 0 ? std::max(1, CPU_COUNT(&mask)) : 1;
}

// Restricts this thread to the index-th core that it may use, until destroyed.
class OnCore {
 public:
  explicit OnCore(int index) {
    if (sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &before_) && index-- == 0) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        moved_ = sched_setaffinity(0, sizeof one, &one) == 0;
        return;
      }
  }
  ~OnCore() {
    if (moved_) sched_setaffinity(0, sizeof before_, &before_);
  }
  OnCore(const OnCore&) = delete;
  OnCore& operator=(const OnCore&) = delete;

 private:
  cpu_set_t before_;
  bool moved_ = false;
};

}  // namespace

MeetingPoint::MeetingPoint(Bootstrap& bootstrap)
    : rank_(bootstrap.rank()),
      size_(bootstrap.size()),
      free_polls_(size_ > cores() ? 2 : 20000),
      segment_(allocate_host_segment(bootstrap, kLines * kLineBytes)) {}

std::uint64_t& MeetingPoint::line(int rank, int index) {
  return *reinterpret_cast<std::uint64_t*>(segment_->base(rank) + static_cast<std::size_t>(index) * kLineBytes);
}

void MeetingPoint::wait_for(std::uint64_t& flag, std::uint64_t count) {
  const std::atomic_ref<std::uint64_t> shared(flag);
  for (int polls = 0; shared.load(std::memory_order_acquire) < count;)
    if (++polls >= free_polls_) sched_yield();
}

void MeetingPoint::barrier() {
  ++meetings_;
  std::atomic_ref(line(rank_, kMeeting)).store(meetings_, std::memory_order_release);
  for (int i = 1; i < size_; ++i) wait_for(line((rank_ + i) % size_, kMeeting), meetings_);
}

double MeetingPoint::exchange(int me) {
  using Clock = std::chrono::steady_clock;
  constexpr int kTries = 20, kWarmUp = 5, kExchanges = 30;
  const std::atomic_ref<std::uint64_t> mine(line(me, kExchange)), theirs(line(1 - me, kExchange));
  const auto once = [&] {
    mine.store(++exchanges_, std::memory_order_release);
    for (int polls = 0; theirs.load(std::memory_order_acquire) < exchanges_;)
      if (++polls >= 20000) sched_yield();
  };
  double best = 1e30;
  for (int i = 0; i < kTries; ++i) {
    for (int k = 0; k < kWarmUp; ++k) once();
    const auto begin = Clock::now();
    for (int k = 0; k < kExchanges; ++k) once();
    best = std::min(best, std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / kExchanges);
  }
  return best;
}

double MeetingPoint::exchange_ns() {
  if (size_ < 2 || cores() < 2) return 0;
  ++measurements_;
  std::atomic_ref<std::uint64_t> done(line(0, kDone));
  std::atomic_ref<std::uint64_t> result(line(0, kResult));
  if (rank_ < 2) {
    double ns = 0;
    if (size_ > cores()) {
      const OnCore core(rank_);
      ns = exchange(rank_);
    } else {
      ns = exchange(rank_);
    }
    if (rank_ == 0) {
      result.store(std::bit_cast<std::uint64_t>(ns), std::memory_order_relaxed);
      done.store(measurements_, std::memory_order_release);
    }
  }
  const timespec nap{0, 20000};
  while (done.load(std::memory_order_acquire) < measurements_) nanosleep(&nap, nullptr);
  const double ns = std::bit_cast<double>(result.load(std::memory_order_relaxed));
  barrier();  // nobody measures again before all have read the result
  return ns;
}

}  // namespace tutti::bench
