// Ranks as the processes of an MPI job.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <climits>
#include <cstring>

#include "collectives/bootstrap.hpp"
#include "collectives/bootstrap_subgroup.hpp"
#include "collectives/deadline.hpp"
#include "collectives/error.hpp"
#include "collectives/mpi_environment.hpp"
#include "collectives/process_identity.hpp"
#include "collectives/share_descriptors.hpp"

namespace tutti {
namespace {

class MpiBootstrap : public Bootstrap {
 public:
  explicit MpiBootstrap(double timeout_s) : timeout_s_(timeout_s), world_(std::make_unique<MpiWorld>()) {
    processes_ = all_gather(identify_this_process());
  }
  MpiBootstrap(double timeout_s, std::unique_ptr<MpiWorld> world, std::vector<ProcessIdentity> processes)
      : timeout_s_(timeout_s), world_(std::move(world)), processes_(std::move(processes)) {}
  using Bootstrap::all_gather;
  int rank() const override { return world_->rank(); }
  int size() const override { return world_->size(); }
  bool shares_memory() const override { return false; }

  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    if (all.size() != mine.size() * static_cast<std::size_t>(size()) || all.size() > INT_MAX) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("bootstrap all_gather on rank {}: {} bytes for {} x {} bytes", rank(), all.size(), size(),
                              mine.size()));
    }
    throw_if_failed();
    expect_same(mine.size(), "all_gather");
    exchange(mine, all, "all_gather");
    bytes_ += mine.size();
    ++exchanges_;
  }

  void barrier() override {
    throw_if_failed();
    expect_same(kBarrier, "barrier");  // an exchange between all, so a barrier
    ++exchanges_;
  }

  std::vector<Descriptor> share(int fd) override {
    require_one_host(processes_);
    return share_descriptors(*this, fd, timeout_s_);
  }
  std::unique_ptr<Bootstrap> subgroup(std::span<const int> members) override {
    const int place = place_in_subgroup(*this, members);
    // MPI_Comm_split has no deadline, but all ranks have arrived by now.
    auto world = std::make_unique<MpiWorld>(*world_, members.empty() ? -1 : members.front(), place);
    if (members.empty()) return nullptr;
    std::vector<ProcessIdentity> processes;
    for (int member : members) processes.push_back(processes_[static_cast<std::size_t>(member)]);
    return std::make_unique<MpiBootstrap>(timeout_s_, std::move(world), std::move(processes));
  }
  bool alive(int peer) const override { return still_running(processes_[static_cast<std::size_t>(peer)]); }
  std::uint64_t bytes() const override { return bytes_; }

 private:
  static constexpr std::uint64_t kBarrier = ~std::uint64_t{0};

  /// Throws, on all ranks alike, unless all are in the same exchange, of equal lengths: MPI takes what is shorter for
  /// what was asked for, and ends the process over what is longer.
  void expect_same(std::uint64_t bytes, const char* name) {
    std::vector<std::uint64_t> all(static_cast<std::size_t>(size()));
    exchange(std::as_bytes(std::span(&bytes, 1)), std::as_writable_bytes(std::span(all)), name);
    const auto text = [](std::uint64_t b) { return b == kBarrier ? "a barrier" : fmt::format("{} bytes", b); };
    for (std::size_t peer = 1; peer < all.size(); ++peer)
      if (all[peer] != all[0])
        throw Error(ErrorCode::mismatch,
                    fmt::format("bootstrap exchange {}: rank {} brings {}, rank 0 {}: call the same on all ranks",
                                exchanges_, peer, text(all[peer]), text(all[0])));
  }

  void exchange(std::span<const std::byte> mine, std::span<std::byte> all, const char* name) {
    // MPI keeps using these if a wait is given up, so they are not the caller's.
    if (mine_.size() < mine.size()) mine_.resize(mine.size());
    if (all_.size() < all.size()) all_.resize(all.size());
    std::copy(mine.begin(), mine.end(), mine_.begin());
    const int bytes = static_cast<int>(mine.size());
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Iallgather(mine_.data(), bytes, MPI_BYTE, all_.data(), bytes, MPI_BYTE, world_->get(), &request),
              "MPI_Iallgather");
    wait(request, name);
    std::copy_n(all_.begin(), all.size(), all.begin());
  }

  void wait(MPI_Request& request, const char* exchange) {
    using namespace std::chrono_literals;
    constexpr auto kLookAround = 50ms;
    const Deadline deadline(timeout_s_);
    auto next_look = Deadline::Clock::now() + kLookAround;
    bool someone_ended = false;
    for (int over = 0;;) {
      check_mpi(MPI_Test(&request, &over, MPI_STATUS_IGNORE), exchange);
      if (over != 0) break;
      const auto now = Deadline::Clock::now();
      if (now < next_look) {
        ::sched_yield();
        continue;
      }
      next_look = now + kLookAround;
      const std::vector<int> ended = ended_ranks();
      // What a rank sent before it ended may still be under way: look once more before giving up.
      if (!ended.empty() && someone_ended) {
        give_up(ErrorCode::peer_failed, exchange,
                fmt::format("ranks {} have ended, they will never arrive", fmt::join(ended, ", ")));
      }
      someone_ended = !ended.empty();
      if (deadline.passed()) {
        give_up(ErrorCode::timeout, exchange, fmt::format("waited {} s for all ranks to arrive", timeout_s_));
      }
    }
  }

  std::vector<int> ended_ranks() const {
    std::vector<int> ended;
    for (std::size_t peer = 0; peer < processes_.size(); ++peer) {
      if (!still_running(processes_[peer])) ended.push_back(static_cast<int>(peer));
    }
    return ended;
  }

  [[noreturn]] void give_up(ErrorCode code, const char* exchange, const std::string& reason) {
    failure_ = std::make_unique<Error>(
        code, fmt::format("bootstrap {} number {} on rank {} of {}: {}", exchange, exchanges_, rank(), size(), reason));
    world_->abandon();
    // Left to MPI, whose request never ends.
    new std::vector<std::byte>(std::move(mine_));
    new std::vector<std::byte>(std::move(all_));
    throw Error(*failure_);
  }
  void throw_if_failed() const {
    if (failure_ != nullptr) throw Error(*failure_);
  }

  const double timeout_s_;
  const std::unique_ptr<MpiWorld> world_;
  std::vector<ProcessIdentity> processes_;
  std::vector<std::byte> mine_, all_;
  std::uint64_t bytes_ = 0;
  std::uint64_t exchanges_ = 0;
  std::unique_ptr<Error> failure_;
};

}  // namespace

std::unique_ptr<Bootstrap> mpi_bootstrap(double timeout_s) {
  if (timeout_s <= 0) timeout_s = default_timeout_s();
  // Starting MPI for one process takes 100 ms and can fail in containers, and nothing needs it.
  if (!mpi_is_present()) return std::move(thread_bootstraps(1, timeout_s).front());
  return std::make_unique<MpiBootstrap>(timeout_s);
}

}  // namespace tutti
