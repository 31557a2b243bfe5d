#include "bench/meeting_point.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>

#include "bench/on_core.hpp"

namespace tutti::bench {
namespace {

// The lines of a rank's share, one flag each.
enum Line { kMeeting, kMeet, kDone, kResult, kLines };
constexpr std::size_t kLineBytes = 256;  // beyond what a core fetches beside a line that it reads
constexpr int kFreePolls = 20000;        // before a yield, of ranks that have a core each

}  // namespace

MeetingPoint::MeetingPoint(Bootstrap& bootstrap)
    : rank_(bootstrap.rank()),
      size_(bootstrap.size()),
      free_polls_(size_ > cores_allowed() ? 2 : kFreePolls),
      segment_(allocate_host_segment(bootstrap, kLines * kLineBytes)) {}

std::uint64_t& MeetingPoint::line(int rank, int index) {
  return *reinterpret_cast<std::uint64_t*>(segment_->base(rank) + static_cast<std::size_t>(index) * kLineBytes);
}

void MeetingPoint::wait_for(std::uint64_t& flag, std::uint64_t count, int free_polls) {
  const std::atomic_ref<std::uint64_t> shared(flag);
  for (int polls = 0; shared.load(std::memory_order_acquire) < count;)
    if (++polls >= free_polls) sched_yield();
}

void MeetingPoint::barrier() {
  ++meetings_;
  std::atomic_ref(line(rank_, kMeeting)).store(meetings_, std::memory_order_release);
  for (int i = 1; i < size_; ++i) wait_for(line((rank_ + i) % size_, kMeeting), meetings_, free_polls_);
}

void MeetingPoint::meet() {
  ++meets_;
  std::atomic_ref(line(rank_, kMeet)).store(meets_, std::memory_order_release);
  for (int i = 1; i < taking_part_; ++i) wait_for(line((rank_ + i) % taking_part_, kMeet), meets_, free_polls_of_meet_);
}

double MeetingPoint::exchange() {
  using Clock = std::chrono::steady_clock;
  constexpr int kTries = 20, kWarmUp = 5, kExchanges = 30;
  double best = 1e30;
  for (int i = 0; i < kTries; ++i) {
    for (int k = 0; k < kWarmUp; ++k) meet();
    const auto begin = Clock::now();
    for (int k = 0; k < kExchanges; ++k) meet();
    best = std::min(best, std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / kExchanges);
  }
  return best;
}

double MeetingPoint::exchange_ns() {
  if (size_ < 2 || cores_allowed() < 2) return 0;
  return most_of(2, [this] { return exchange(); });
}

double MeetingPoint::hand_over_ns() {
  if (size_ < 2) return 0;
  return measured(2, 0, 1, [this] { return exchange(); });
}

double MeetingPoint::most_of(int ranks, const std::function<double()>& measurement) {
  const int cores = cores_allowed();
  const bool crowded = size_ > cores;
  const bool apart = crowded && ranks <= cores;
  return measured(ranks, apart ? std::optional(rank_) : std::nullopt, apart || !crowded ? kFreePolls : 2, measurement);
}

double MeetingPoint::measured(int ranks, std::optional<int> core, int free_polls,
                              const std::function<double()>& measurement) {
  ++measurements_;
  meets_ = measurements_ << 32;  // alike for all, whoever took part before
  taking_part_ = ranks;
  free_polls_of_meet_ = free_polls;
  if (rank_ < ranks) {
    std::optional<OnCore> kept;
    if (core) kept.emplace(*core);
    const double mine = measurement();
    std::atomic_ref(line(rank_, kResult)).store(std::bit_cast<std::uint64_t>(mine), std::memory_order_relaxed);
    std::atomic_ref(line(rank_, kDone)).store(measurements_, std::memory_order_release);
  }
  double most = 0;
  const timespec nap{0, 20000};
  for (int i = 0; i < ranks; ++i) {
    const std::atomic_ref done(line(i, kDone));
    while (done.load(std::memory_order_acquire) < measurements_) nanosleep(&nap, nullptr);
    most = std::max(most, std::bit_cast<double>(std::atomic_ref(line(i, kResult)).load(std::memory_order_relaxed)));
  }
  barrier();  // nobody measures again before all have read the results
  return most;
}

}  // namespace tutti::bench
