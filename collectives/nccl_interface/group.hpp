// ncclGroupStart to ncclGroupEnd: what a thread asks for in between happens at the end.
#pragma once
#include <functional>
#include <vector>

#include "collectives/nccl_interface/launch.hpp"

namespace tutti::nccl_interface {

/// Work that waits for other ranks: those of a group do it on a thread each, as one thread may ask for several ranks.
struct Job {
  const char* function;
  std::function<void()> work;
  /// What it makes, in progress until then, and where the caller finds it: null if it fails.
  CommunicatorPointer makes;
  ncclComm_t* place = nullptr;
  /// The communicator whose ranks meet. Jobs through one run one after the other; in the background, it is in progress
  /// until they have ended.
  CommunicatorPointer through;
};

void start_group();
/// Ends a level; if it was the outermost, does what the group asked for, or nothing if one of its calls failed.
ncclResult_t end_group(const char* function);
/// From here on the group ends with `result`, and does nothing.
void spoil_group(ncclResult_t result);
/// Forgets what this thread's group asked for, and ends it.
void drop_group();

/// To be called in a group.
void add(Call call);
void add(Job job);
/// Runs `work` after all else of the group.
void add_last(std::function<ncclResult_t()> work);

/// Runs the body of a function of nccl.h in a group: outside of one, in one of its own.
template <class Body>
ncclResult_t answer_in_group(const char* function, const Body& body) {
  start_group();
  const ncclResult_t result = answer(function, body);
  if (result != ncclSuccess) spoil_group(result);
  const ncclResult_t end = end_group(function);
  return result != ncclSuccess ? result : end;
}

}  // namespace tutti::nccl_interface
