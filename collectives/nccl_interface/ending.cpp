// How communicators end, well or badly.
#include <fmt/format.h>

#include "collectives/nccl_interface/group.hpp"

namespace tutti::nccl_interface {
namespace {

ncclResult_t finalize(const CommunicatorPointer& its) {
  if (its->blocking) {
    const ncclResult_t end = its->drain();
    its->finalize();
    if (end != ncclSuccess) throw Refusal(end, its->outcome() == ncclSuccess ? "a call failed" : its->trouble());
    return ncclSuccess;
  }
  its->begin();
  its->in_background([raw = its.get()] {
    const ncclResult_t end = raw->drain();
    raw->finalize();
    raw->settle(end, end == ncclSuccess ? "" : "a call failed before the communicator was finalized");
  });
  return ncclInProgress;
}

/// The communicator and its memory end with the last who holds it.
void destroy(const CommunicatorPointer& its) {
  its->wait_for_background();
  if (its->outcome() == ncclSuccess && its->drain() == ncclSuccess) its->end_well();
}

/// One that is still being made waits for peers, and nothing ends that wait before its time: it is left to itself.
void abandon(CommunicatorPointer its) { new CommunicatorPointer(std::move(its)); }

}  // namespace
}  // namespace tutti::nccl_interface

using namespace tutti::nccl_interface;

extern "C" {

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return answer_in_group(__func__, [&] {
    auto its = communicator(comm);
    its->require_ready();
    add_last([its] { return answer("ncclCommFinalize", [&] { return finalize(its); }); });
    return ncclSuccess;
  });
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (!comm) return ncclSuccess;
  return answer_in_group(__func__, [&] {
    auto its = remove_communicator(comm);
    add_last([its] {
      return answer("ncclCommDestroy", [&] {
        destroy(its);
        return ncclSuccess;
      });
    });
    return ncclSuccess;
  });
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (!comm) return ncclSuccess;
  return answer(__func__, [&] {
    auto its = remove_communicator(comm);
    const bool in_the_making = its->outcome() == ncclInProgress;
    its->abort(fmt::format("rank {} of {} was aborted by ncclCommAbort", its->rank(), its->size()));
    if (in_the_making) abandon(std::move(its));
    return ncclSuccess;
  });
}

ncclResult_t ncclCommRevoke(ncclComm_t, int) {
  return answer(__func__, []() -> ncclResult_t {
    throw Refusal(ncclInvalidUsage, "tutti does not revoke communicators; use ncclCommAbort");
  });
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError) {
  return answer(__func__, [&] {
    require(asyncError, "asyncError");
    *asyncError = communicator(comm)->outcome();
    return ncclSuccess;
  });
}

}  // extern "C"
