// The native backend on the CPU: tutti's kernels through shared memory.
#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <string>

#include "collectives/backend.hpp"
#include "collectives/choose.hpp"
#include "collectives/session_state.hpp"

namespace tutti {

class NativeBackend : public Backend {
 public:
  /// Collective; throws on all ranks alike. The communicator's session and bootstrap outlive the backend.
  NativeBackend(const detail::CommunicatorState& communicator, const CommunicatorOptions& options);
  ~NativeBackend() override;

  BackendKind kind() const override { return BackendKind::native; }
  void run(const Request& request) override;
  std::shared_ptr<detail::Operation> start(const Request& request) override;
  void run_group(std::span<const Request> requests) override;
  std::shared_ptr<detail::Operation> start_group(std::span<const Request> requests) override;
  Choice choice(const Request& request) const override;
  std::size_t arena_bytes() const override { return team_.layout.bytes; }
  std::pair<std::shared_ptr<detail::SegmentOwner>, void*> allocate(Bootstrap& bootstrap, std::size_t bytes) override;

 private:
  friend class NativeOperation;
  /// What follows from a request whatever its buffers.
  struct Planned {
    Request like;  ///< of a request that was planned
    Plan plan;
    int blocks = 0;  ///< 0: of none
    int chain = 0;
    Call call;  ///< but for the buffers and the number

    bool serves(const Request& request) const {
      return blocks != 0 && like.count == request.count && like.collective == request.collective &&
             like.type == request.type && like.op == request.op && like.peer == request.peer &&
             like.algorithm == request.algorithm;
    }
  };

  std::shared_ptr<Launch> prepare(const Request& request);
  const Planned& planned(const Request& request);
  Call call_for(const Request& request, const Planned& plan);
  int blocks_of(const Request& request, const Plan& plan) const;
  int chain_of(const Request& request) const;
  StorePolicy stores_for(const Request& request);
  std::uint64_t least_line_ns() const;
  bool ended(const Launch& launch);
  void throw_if_failed() const;

  detail::SessionState& session_;
  std::vector<int> members_;  ///< the session's rank of each rank
  RankSet everyone_ = 0;      ///< of them
  CommunicatorOptions options_;
  Chooser chooser_;
  std::shared_ptr<SharedSegment> arena_;
  Team team_;
  Launches launches_;
  std::uint64_t calls_ = 0;  ///< collectives so far
  std::size_t cache_bytes_;  ///< the last-level cache
  /// Of a rank's buffers, up to which it would rather pull.
  std::size_t most_pulled_;
  std::array<Planned, 16> planned_;  ///< the last requests; one thread at a time calls a communicator
  bool far_ = false;
  std::uint64_t looks_ = 0;
  std::shared_ptr<const Error> error_;  ///< set once, by whoever drives; then every call throws it
  std::atomic<bool> failed_ = false;    ///< error_ is set
};

}  // namespace tutti
