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
  // Of reductions, what a rank does to its own elements:
  std::optional<Scaling> scaling;        ///< before
  bool divides = false;                  ///< after: a sum that has to become an average
  std::optional<ncclDataType_t> narrow;  ///< they are of this 8-bit type, and of the request's on the way
  void* scratch_in = nullptr;            ///< what is computed before, unless it goes to the request's output
  void* scratch_out = nullptr;           ///< the result of the collective, if it is to be narrowed
};

/// Launches the calls of a group, communicator by communicator, from this thread. On each communicator collectives come
/// first, in their order, then all sends and receives, which make progress together: every order in which its ranks may
/// have issued them ends well. The group's streams of one communicator wait for each other before and after. Nothing
/// here waits for a kernel, as it may wait for one that this thread is still to launch.
void launch(std::span<Call> calls);

}  // namespace tutti::nccl_interface
