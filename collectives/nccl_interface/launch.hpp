// From the calls of a group to kernels in streams.
#pragma once
#include <optional>
#include <span>

#include "collectives/nccl_interface/communicator.hpp"

namespace tutti::nccl_interface {

/// A call with checked arguments, of one element at least.
struct Call {
  CommunicatorPointer communicator;
  Request request;  ///< its stream is the caller's: null is the default stream
  std::optional<Scaling> scaling;
  void* scaled = nullptr;  ///< where the multiplied elements go
};

/// Launches the calls of a group, communicator by communicator, from this thread. On each communicator collectives come
/// first, in their order, then all sends and receives, which make progress together: every order in which its ranks may
/// have issued them ends well. The group's streams of one communicator wait for each other before and after. Nothing
/// here waits for a kernel, as it may wait for one that this thread is still to launch.
void launch(std::span<Call> calls);

}  // namespace tutti::nccl_interface
