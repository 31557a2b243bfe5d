// What all communicators of a session share on one rank.
#pragma once
#include <memory>

#include "collectives/backend.hpp"
#include "collectives/progress.hpp"
#include "collectives/segment_table.hpp"
#include "collectives/tuning.hpp"
#include "collectives/tutti.hpp"
#include "kernels/nearness.hpp"

namespace tutti::detail {

class DeviceSession;

/// Bound of an exchange of the bootstrap: a peer may come late from a wait of its own that ran out.
double exchange_timeout_s(const SessionOptions& options);

struct SessionState {
  SessionState(std::unique_ptr<Bootstrap> bootstrap, const SessionOptions& options);

  std::shared_ptr<Bootstrap> bootstrap;
  BackendKind backend;
  std::chrono::nanoseconds timeout;
  std::shared_ptr<DeviceSession> device;  ///< null: collectives run on the CPU
  bool on_gpu = false;
  SegmentTable segments;
  int cores;      ///< that this rank has for itself on the CPU
  int threads;    ///< that may run one of its calls there, the same on all ranks
  Tuning tuning;  ///< by which communicators choose, the same on all ranks
  Nearness nearness;
  Progress progress;
};

struct CommunicatorState {
  std::shared_ptr<SessionState> session;
  std::shared_ptr<Bootstrap> bootstrap;  ///< of the communicator's ranks
  std::vector<int> members;              ///< the session's rank of each of them
  std::unique_ptr<Backend> backend;
};

}  // namespace tutti::detail
