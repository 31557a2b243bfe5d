#include "collectives/nccl_interface/communicator.hpp"

#include <fmt/format.h>

#include <numeric>
#include <unordered_map>
#include <vector>

#include "collectives/nccl_interface/elements.hpp"
#include "collectives/nccl_interface/farewell.hpp"

using tutti::Error;
using tutti::ErrorCode;
using tutti::nccl_interface::Refusal;

namespace {

using Clock = std::chrono::steady_clock;

/// How often a poll looks whether peers have ended: a look reads a file for each.
constexpr auto kBetweenLooks = std::chrono::milliseconds(100);
/// How long a call may stay in flight after a peer's process has ended: one that ended well has done its part of it.
constexpr auto kGrace = std::chrono::seconds(5);
constexpr auto kBetweenPolls = std::chrono::microseconds(200);

}  // namespace

ncclComm::~ncclComm() {
  if (background_.joinable()) background_.join();
  int before = -1;
  cudaGetDevice(&before);
  cudaSetDevice(device);
  const bool parts = ends_well_ && state_ && state_->session->device->has_strangers(state_->members);
  if (state_) state_->backend.reset();  // waits for its kernels, which may read the scratch
  scratch.release();
  if (parts) tutti::nccl_interface::part(std::move(state_));
  state_.reset();
  if (before >= 0) cudaSetDevice(before);
}

void ncclComm::join(const tutti::UniqueId& id, int as, int of) {
  rank_ = as;
  size_ = of;
  tutti::nccl_interface::check(cudaSetDevice(device), "cudaSetDevice");
  tutti::SessionOptions options;
  options.backend = tutti::BackendKind::native;
  options.gpu = device;
  auto state = std::make_shared<tutti::detail::CommunicatorState>();
  state->session = std::make_shared<tutti::detail::SessionState>(
      tutti::sockets_bootstrap(id, rank_, size_, tutti::detail::exchange_timeout_s(options)), options);
  state->bootstrap = state->session->bootstrap;
  state->members.resize(static_cast<std::size_t>(size_));
  std::iota(state->members.begin(), state->members.end(), 0);
  processes_ = state->bootstrap->all_gather(tutti::identify_this_process());
  tutti::nccl_interface::load_element_kernels();
  auto backend = std::make_unique<tutti::NativeCudaBackend>(*state, tutti::CommunicatorOptions{});
  backend_ = backend.get();
  state->backend = std::move(backend);
  state_ = std::move(state);
  const std::lock_guard lock(mutex_);
  joined_ = true;
}

int ncclComm::known_size() {
  const std::lock_guard lock(mutex_);
  if (!joined_) throw Refusal(ncclInvalidArgument, "the communicator is still in the making");
  return size_;
}

void ncclComm::begin() {
  const std::lock_guard lock(mutex_);
  outcome_ = ncclInProgress;
}

void ncclComm::settle(ncclResult_t result, const std::string& trouble) {
  const std::lock_guard lock(mutex_);
  outcome_ = result;
  trouble_ = trouble;
}

ncclResult_t ncclComm::outcome() {
  {
    const std::lock_guard lock(mutex_);
    if (outcome_ != ncclSuccess || !joined_) return outcome_;
  }
  const std::optional<Error> failure = failure_of_calls();
  const std::lock_guard lock(mutex_);
  if (failure && outcome_ == ncclSuccess) {
    outcome_ = tutti::nccl_interface::result_of(*failure);
    trouble_ = failure->what();
  }
  return outcome_;
}

std::optional<Error> ncclComm::failure_of_calls() {
  try {
    backend_->throw_if_failed();
  } catch (const Error& error) {
    return error;
  }
  return failure_of_peers();
}

std::optional<Error> ncclComm::failure_of_peers() {
  const auto now = Clock::now();
  {
    const std::lock_guard lock(mutex_);
    if (now < next_look_) return {};
    next_look_ = now + kBetweenLooks;
  }
  int ended = 0;
  while (ended < size_ && tutti::still_running(processes_[static_cast<std::size_t>(ended)])) ++ended;
  const bool stuck = ended < size_ && backend_->is_busy();
  {
    const std::lock_guard lock(mutex_);
    if (!stuck) ended_since_ = {};
    if (stuck && ended_since_ == Clock::time_point{}) ended_since_ = now;
    if (!stuck || now - ended_since_ < kGrace) return {};
  }
  const Error why(
      ErrorCode::peer_failed,
      fmt::format("rank {} of {}: the process of rank {} has ended, and a call that may need it is in flight", rank_,
                  size_, ended));
  backend_->abort(why);
  return why;
}

std::string ncclComm::trouble() {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

void ncclComm::require_ready() {
  const ncclResult_t now = outcome();
  if (now == ncclInProgress)
    throw Refusal(blocking ? ncclInvalidUsage : ncclInvalidArgument,
                  "the communicator is still in progress; wait until ncclCommGetAsyncError gives another result, or "
                  "end the group in which it is made");
  if (now != ncclSuccess) throw Refusal(now, fmt::format("the communicator has failed: {}", trouble()));
  const std::lock_guard lock(mutex_);
  if (finalized_) throw Refusal(ncclInvalidUsage, "the communicator is finalized; it can only be destroyed");
}

void ncclComm::finalize() {
  const std::lock_guard lock(mutex_);
  finalized_ = true;
}

ncclResult_t ncclComm::drain() {
  for (;;) {
    if (const std::optional<Error> failure = failure_of_calls()) return tutti::nccl_interface::result_of(*failure);
    if (!backend_->is_busy()) return ncclSuccess;
    std::this_thread::sleep_for(kBetweenPolls);
  }
}

void ncclComm::abort(const std::string& why) {
  bool reaches = false;
  {
    const std::lock_guard lock(mutex_);
    reaches = joined_;
    if (outcome_ == ncclSuccess) {
      outcome_ = ncclInvalidUsage;
      trouble_ = why;
    }
  }
  if (reaches) backend_->abort(Error(ErrorCode::peer_failed, why));
}

void ncclComm::in_background(std::function<void()> work) {
  wait_for_background();
  background_ = std::thread(std::move(work));
}

void ncclComm::wait_for_background() {
  if (background_.joinable()) background_.join();
}

namespace tutti::nccl_interface {
namespace {

/// Never destroyed: a program may end with communicators alive, and their memory then goes with the process.
struct Alive {
  std::mutex mutex;
  std::unordered_map<ncclComm_t, CommunicatorPointer> communicators;
};
Alive& alive() {
  static auto* const only = new Alive;
  return *only;
}

}  // namespace

CommunicatorPointer add_communicator(int device, bool blocking) {
  auto made = std::make_shared<ncclComm>(device, blocking);
  const std::lock_guard lock(alive().mutex);
  alive().communicators[made.get()] = made;
  return made;
}

CommunicatorPointer communicator_if_alive(ncclComm_t comm) {
  const std::lock_guard lock(alive().mutex);
  const auto found = alive().communicators.find(comm);
  return found == alive().communicators.end() ? nullptr : found->second;
}

CommunicatorPointer communicator(ncclComm_t comm) {
  require(comm, "comm");
  if (auto found = communicator_if_alive(comm)) return found;
  throw Refusal(ncclInvalidArgument, "comm is no communicator: it was never made, or is destroyed already");
}

CommunicatorPointer remove_communicator(ncclComm_t comm) {
  auto found = communicator(comm);
  const std::lock_guard lock(alive().mutex);
  alive().communicators.erase(comm);
  return found;
}

}  // namespace tutti::nccl_interface
