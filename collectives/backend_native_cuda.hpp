// The native backend on GPUs: tutti's kernels through peers' memory.
#pragma once
#include <cuda_runtime_api.h>

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "collectives/backend.hpp"
#include "collectives/choose.hpp"
#include "collectives/device_cuda.hpp"
#include "collectives/session_state.hpp"
#include "collectives/team_cuda.hpp"

namespace tutti {

class NativeCudaBackend : public Backend {
 public:
  NativeCudaBackend(const detail::CommunicatorState& communicator, const CommunicatorOptions& options);

  BackendKind kind() const override { return BackendKind::native; }
  void run(const Request& request) override { run_group({&request, 1}); }
  std::shared_ptr<detail::Operation> start(const Request& request) override { return start_group({&request, 1}); }
  void run_group(std::span<const Request> requests) override;
  std::shared_ptr<detail::Operation> start_group(std::span<const Request> requests) override;
  Choice choice(const Request& request) const override;
  std::size_t arena_bytes() const override { return team().layout.bytes; }
  std::pair<std::shared_ptr<detail::SegmentOwner>, void*> allocate(Bootstrap& bootstrap, std::size_t bytes) override;
  std::shared_ptr<detail::SegmentOwner> register_memory(Bootstrap& bootstrap, void* memory, std::size_t bytes) override;
  void copy(void* to, const void* from, std::size_t bytes) override { device_->copy(to, from, bytes); }

  /// Throws if a kernel of this communicator has failed. May be called by any thread.
  void throw_if_failed();
  /// Whether a call of the session is in flight on this rank. May be called by any thread.
  bool is_busy() const { return device_->is_busy(); }
  /// Fails the communicator, with `why` for every later call: kernels that wait for a peer end, and tell the peers.
  /// Returns at once. May be called by any thread.
  void abort(const Error& why);

 private:
  const Team& team() const { return team_->team(); }
  int ranks() const { return team_->ranks(); }
  Plan plan_for(const Request& request) const;
  int blocks_for(const Request& request, const Plan& plan) const;
  Call call_for(const Request& request, const Plan& plan, int blocks);
  std::size_t chain_of(const Request& request) const;
  /// Enqueues the requests (one collective, or messages) on `stream`; null: on one of its own, which it returns.
  cudaStream_t enqueue(std::span<const Request> requests, cudaStream_t stream);
  void launch_requests(std::span<const Request> requests, cudaStream_t stream);
  void copy_alone(const Request& request, cudaStream_t stream);
  std::shared_ptr<detail::SegmentOwner> enter_in_table(Bootstrap& bootstrap, std::shared_ptr<SharedSegment> segment);

  detail::SessionState& session_;
  std::vector<int> members_;  ///< the session's rank of each rank
  RankSet everyone_ = 0;      ///< of them
  std::shared_ptr<detail::DeviceSession> device_;
  CommunicatorOptions options_;
  std::shared_ptr<CudaTeam> team_;
  Chooser chooser_;
  unsigned long long kept_with_ = 0;    ///< the newest capture whose graph keeps the team
  std::uint64_t calls_ = 0;             ///< collectives so far
  std::mutex mutex_;                    // of what follows
  std::shared_ptr<const Error> error_;  ///< set once
};

}  // namespace tutti
