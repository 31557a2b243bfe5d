// What an ncclComm_t points to.
#pragma once
#include <nccl.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "collectives/backend_native_cuda.hpp"
#include "collectives/nccl_interface/operators.hpp"
#include "collectives/nccl_interface/registrations.hpp"
#include "collectives/nccl_interface/results.hpp"
#include "collectives/nccl_interface/scratch.hpp"
#include "collectives/process_identity.hpp"

/// One rank's communicator. Every one is a session of its own: what tutti's communicators of one session share (the
/// order in which they are made, the wait for each other's calls) NCCL's do not.
struct ncclComm {
 public:
  ncclComm(int on_device, bool is_blocking) : device(on_device), blocking(is_blocking) {}
  ~ncclComm();
  ncclComm(const ncclComm&) = delete;
  ncclComm& operator=(const ncclComm&) = delete;

  const int device;
  const bool blocking;
  int rank() const { return rank_; }  ///< from `join` on
  int size() const { return size_; }
  /// Throws while the communicator is in the making.
  int known_size();

  /// Becomes rank `rank` of the `size` that share `id`, on its device. Collective over them. To be called once.
  void join(const tutti::UniqueId& id, int rank, int size);

  /// The bootstrap of its ranks, for set-up; one thread at a time.
  tutti::Bootstrap& bootstrap() { return *state_->bootstrap; }
  tutti::NativeCudaBackend& backend() { return *backend_; }

  /// Begins what ends with `settle`, such as its creation: meanwhile the communicator is ncclInProgress.
  void begin();
  void settle(ncclResult_t result, const std::string& trouble);
  /// ncclSuccess, ncclInProgress, or what it has failed with: a call, a peer that has ended while a call is in flight,
  /// its creation, its abort. Does not wait. May be called by any thread.
  ncclResult_t outcome();
  /// Why it failed; empty if it has not.
  std::string trouble();
  /// Throws unless calls are possible.
  void require_ready();
  /// Waits until no call is in flight, or one has failed: ncclSuccess, or with what.
  ncclResult_t drain();
  /// From here on it only waits to be destroyed.
  void finalize();
  /// It will end well: on all ranks, and with no call in flight.
  void end_well() { ends_well_ = true; }
  /// Fails it, and ends kernels in flight.
  void abort(const std::string& why);

  /// Runs `work`, which ends with `settle`, in the background.
  void in_background(std::function<void()> work);
  void wait_for_background();

  std::mutex calls;  ///< one thread at a time enqueues
  tutti::nccl_interface::Scratch scratch;
  tutti::nccl_interface::Scalings scalings;
  tutti::nccl_interface::Registrations registrations;

 private:
  std::optional<tutti::Error> failure_of_calls();
  std::optional<tutti::Error> failure_of_peers();

  int rank_ = -1, size_ = 0;
  std::shared_ptr<tutti::detail::CommunicatorState> state_;
  tutti::NativeCudaBackend* backend_ = nullptr;    ///< of state_
  std::vector<tutti::ProcessIdentity> processes_;  ///< of the ranks
  std::thread background_;
  std::atomic<bool> ends_well_ = false;

  std::mutex mutex_;  // of what follows
  ncclResult_t outcome_ = ncclSuccess;
  std::string trouble_;
  bool joined_ = false;
  bool finalized_ = false;
  std::chrono::steady_clock::time_point next_look_{};
  std::chrono::steady_clock::time_point ended_since_{};  ///< a peer has ended and a call is in flight; else 0
};

namespace tutti::nccl_interface {

using CommunicatorPointer = std::shared_ptr<ncclComm>;

/// Communicators from their creation to ncclCommDestroy or ncclCommAbort. What is given away after that, or never was
/// one, is found out.
CommunicatorPointer add_communicator(int device, bool blocking);
/// Throws ncclInvalidArgument if `comm` is none.
CommunicatorPointer communicator(ncclComm_t comm);
CommunicatorPointer communicator_if_alive(ncclComm_t comm);
/// Takes it out of those that are alive.
CommunicatorPointer remove_communicator(ncclComm_t comm);

}  // namespace tutti::nccl_interface
