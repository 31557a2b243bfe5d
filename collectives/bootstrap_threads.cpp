// Ranks as threads of one process: they meet under a mutex.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>

#include "collectives/agree.hpp"
#include "collectives/bootstrap.hpp"
#include "collectives/bootstrap_subgroup.hpp"
#include "collectives/deadline.hpp"
#include "collectives/error.hpp"

namespace tutti {
namespace {

/// The place where all ranks meet for one exchange after the other.
class Meeting {
 public:
  Meeting(int ranks, double timeout_s)
      : timeout_s_(timeout_s), arrived_(static_cast<std::size_t>(ranks)), gone_(static_cast<std::size_t>(ranks)) {}

  void exchange(int rank, std::span<const std::byte> mine, std::span<std::byte> all) {
    std::unique_lock lock(mutex_);
    const std::uint64_t number = exchanges_;
    // Two buffers do: nobody can fill this one again before every rank has arrived at the next exchange, and hence has
    // copied out of this one.
    std::vector<std::byte>& buffer = buffers_[number % 2];
    if (failure_ == nullptr && count(arrived_) == 0) buffer.resize(size() * mine.size());
    if (failure_ == nullptr && buffer.size() != size() * mine.size()) {
      fail(ErrorCode::mismatch, fmt::format("bootstrap exchange {}: rank {} brings {} bytes, others bring {}: call the "
                                            "same on all ranks",
                                            number, rank, mine.size(), buffer.size() / size()));
    }
    fail_if_someone_left(number);
    throw_failure();
    std::copy(mine.begin(), mine.end(), buffer.begin() + static_cast<std::ptrdiff_t>(mine.size()) * rank);
    arrived_[static_cast<std::size_t>(rank)] = true;
    if (count(arrived_) == size()) {
      arrived_.assign(size(), false);
      ++exchanges_;
      changed_.notify_all();
    } else {
      const Deadline deadline(timeout_s_);
      const auto over = [&] { return exchanges_ != number || failure_ != nullptr || count(gone_) > 0; };
      if (!changed_.wait_until(lock, deadline.end(), over)) {
        fail(ErrorCode::timeout, fmt::format("bootstrap exchange {}: waited {} s for ranks {}", number, timeout_s_,
                                             fmt::join(absent(), ", ")));
      }
      if (exchanges_ == number) {
        fail_if_someone_left(number);
        throw_failure();
      }
    }
    std::copy(buffer.begin(), buffer.end(), all.begin());
  }

  void leave(int rank) {
    std::lock_guard lock(mutex_);
    gone_[static_cast<std::size_t>(rank)] = true;
    changed_.notify_all();
  }

  bool alive(int rank) {
    std::lock_guard lock(mutex_);
    return !gone_[static_cast<std::size_t>(rank)];
  }

  std::size_t size() const { return gone_.size(); }

  /// The place where the group of `ranks` ranks around `first` meets, the same for all of them. Each calls it once
  /// after an exchange, so that the groups of one subgroup call never meet those of the next.
  std::shared_ptr<Meeting> of_group(int first, int ranks) {
    std::lock_guard lock(mutex_);
    Forming& group = forming_[first];
    if (group.meeting == nullptr) group.meeting = std::make_shared<Meeting>(ranks, timeout_s_);
    const std::shared_ptr<Meeting> meeting = group.meeting;
    if (++group.came == ranks) forming_.erase(first);
    return meeting;
  }

 private:
  struct Forming {
    std::shared_ptr<Meeting> meeting;
    int came = 0;
  };

  static std::size_t count(const std::vector<bool>& flags) {
    return static_cast<std::size_t>(std::count(flags.begin(), flags.end(), true));
  }
  std::vector<std::size_t> absent() const {
    std::vector<std::size_t> ranks;
    for (std::size_t rank = 0; rank < size(); ++rank) {
      if (!arrived_[rank]) ranks.push_back(rank);
    }
    return ranks;
  }
  void fail(ErrorCode code, const std::string& message) {
    if (failure_ == nullptr) failure_ = std::make_unique<Error>(code, message);
    changed_.notify_all();
  }
  void fail_if_someone_left(std::uint64_t number) {
    const auto left = std::find(gone_.begin(), gone_.end(), true);
    if (left == gone_.end()) return;
    fail(ErrorCode::peer_failed,
         fmt::format("bootstrap exchange {}: rank {} has ended, it will never arrive", number, left - gone_.begin()));
  }
  void throw_failure() const {
    if (failure_ != nullptr) throw Error(*failure_);
  }

  const double timeout_s_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t exchanges_ = 0;
  std::vector<bool> arrived_;  // at the exchange under way
  std::vector<bool> gone_;
  std::vector<std::byte> buffers_[2];
  std::unique_ptr<Error> failure_;
  std::map<int, Forming> forming_;  // by first member
};

class ThreadBootstrap : public Bootstrap {
 public:
  ThreadBootstrap(int rank, std::shared_ptr<Meeting> meeting) : rank_(rank), meeting_(std::move(meeting)) {}
  ~ThreadBootstrap() override { meeting_->leave(rank_); }
  using Bootstrap::all_gather;
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(meeting_->size()); }
  bool shares_memory() const override { return true; }
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    if (all.size() != mine.size() * meeting_->size()) {
      throw Error(ErrorCode::invalid_argument, fmt::format("bootstrap all_gather on rank {}: {} bytes do not hold {} x "
                                                           "{} bytes",
                                                           rank_, all.size(), size(), mine.size()));
    }
    meeting_->exchange(rank_, mine, all);
    bytes_ += mine.size();
  }
  void barrier() override { meeting_->exchange(rank_, {}, {}); }
  std::vector<Descriptor> share(int fd) override {
    std::vector<Descriptor> descriptors;
    std::string trouble;
    for (int theirs : all_gather(fd)) {
      descriptors.emplace_back(theirs < 0 ? -1 : ::fcntl(theirs, F_DUPFD_CLOEXEC, 0));
      if (theirs >= 0 && descriptors.back().get() < 0 && trouble.empty()) {
        trouble = fmt::format("cannot duplicate descriptor {}: {} (ulimit -n)", theirs, std::strerror(errno));
      }
    }
    agree(*this, ErrorCode::system, trouble);  // from here on the owners may close theirs
    return descriptors;
  }
  std::unique_ptr<Bootstrap> subgroup(std::span<const int> members) override {
    const int place = place_in_subgroup(*this, members);
    if (place < 0) return nullptr;
    return std::make_unique<ThreadBootstrap>(place,
                                             meeting_->of_group(members.front(), static_cast<int>(members.size())));
  }
  bool alive(int peer) const override { return meeting_->alive(peer); }
  std::uint64_t bytes() const override { return bytes_; }

 private:
  const int rank_;
  const std::shared_ptr<Meeting> meeting_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

std::vector<std::unique_ptr<Bootstrap>> thread_bootstraps(int ranks, double timeout_s) {
  if (ranks < 1) {
    throw Error(ErrorCode::invalid_argument, fmt::format("{} ranks as threads: ask for at least 1", ranks));
  }
  auto meeting = std::make_shared<Meeting>(ranks, timeout_s > 0 ? timeout_s : default_timeout_s());
  std::vector<std::unique_ptr<Bootstrap>> bootstraps;
  for (int rank = 0; rank < ranks; ++rank) bootstraps.push_back(std::make_unique<ThreadBootstrap>(rank, meeting));
  return bootstraps;
}

}  // namespace tutti
