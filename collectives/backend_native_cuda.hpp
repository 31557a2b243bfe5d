// The native backend on GPUs: tutti's kernels through peers' memory.
#pragma once
#include <cuda_runtime_api.h>

#include <memory>
#include <span>
#include <vector>

#include "collectives/backend.hpp"
#include "collectives/choose.hpp"
#include "collectives/device_cuda.hpp"
#include "collectives/segments_cuda.hpp"
#include "collectives/session_state.hpp"
#include "kernels/launch_cuda.hpp"

namespace tutti {

class NativeCudaBackend : public Backend {
 public:
  NativeCudaBackend(const detail::CommunicatorState& communicator, const CommunicatorOptions& options);
  ~NativeCudaBackend() override;

  BackendKind kind() const override { return BackendKind::native; }
  void run(const Request& request) override { run_group({&request, 1}); }
  std::shared_ptr<detail::Operation> start(const Request& request) override { return start_group({&request, 1}); }
  void run_group(std::span<const Request> requests) override;
  std::shared_ptr<detail::Operation> start_group(std::span<const Request> requests) override;
  Choice choice(const Request& request) const override;
  std::size_t arena_bytes() const override { return team_.layout.bytes; }
  std::pair<std::shared_ptr<detail::SegmentOwner>, void*> allocate(Bootstrap& bootstrap, std::size_t bytes) override;

  /// Throws if a kernel of this communicator has failed.
  void throw_if_failed();

 private:
  /// Calls that must run in the order issued: all collectives, and the messages of each peer and direction.
  struct Chain {
    cudaStream_t stream = nullptr;  ///< of calls that name none
    cudaEvent_t last = nullptr;     ///< the end of the last call
    bool used = false;
  };

  void prepare_arena(Bootstrap& bootstrap);
  Plan plan_for(const Request& request) const;
  Call call_for(const Request& request, const Plan& plan, int blocks);
  std::size_t chain_of(const Request& request) const;
  Chain& chain(std::size_t index);
  /// Enqueues the requests (one collective, or messages) and returns the stream they went to.
  cudaStream_t enqueue(std::span<const Request> requests);
  void launch_requests(std::span<const Request> requests, cudaStream_t stream);
  void copy_alone(const Request& request, cudaStream_t stream);

  detail::SessionState& session_;
  std::vector<int> members_;  ///< the session's rank of each rank
  RankSet everyone_;          ///< of them
  std::shared_ptr<detail::DeviceSession> device_;
  CommunicatorOptions options_;
  std::shared_ptr<SharedSegment> arena_;
  Team team_;
  Reports reports_;
  std::vector<Chain> chains_;
  std::uint64_t calls_ = 0;  ///< collectives so far
  std::shared_ptr<const Error> error_;
};

}  // namespace tutti
