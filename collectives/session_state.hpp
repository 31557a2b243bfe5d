// What all communicators of a session share on one rank.
#pragma once
#include <memory>

#include "collectives/backend.hpp"
#include "collectives/progress.hpp"
#include "collectives/segment_table.hpp"
#include "collectives/tutti.hpp"

namespace tutti::detail {

struct SessionState {
  SessionState(std::unique_ptr<Bootstrap> bootstrap, const SessionOptions& options);

  std::unique_ptr<Bootstrap> bootstrap;
  BackendKind backend;
  bool on_gpu = false;
  std::chrono::nanoseconds timeout;
  SegmentTable segments;
  Progress progress;
};

struct CommunicatorState {
  std::shared_ptr<SessionState> session;
  std::unique_ptr<Backend> backend;
};

}  // namespace tutti::detail
