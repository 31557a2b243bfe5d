// Memory for communication. tutti's kernels reach any memory of the GPU through staging, so there is nothing that
// registering must do; what is registered is only kept to tell what is deregistered.
#include <fmt/format.h>

#include "collectives/nccl_interface/communicator.hpp"
#include "collectives/streams_cuda.hpp"

namespace tutti::nccl_interface {

Registrations::~Registrations() {
  for (Memory* const memory : all_) delete memory;
}

void* Registrations::add(void* memory, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  return *all_.insert(new Memory{memory, bytes}).first;
}

void Registrations::remove(void* handle) {
  const std::lock_guard lock(mutex_);
  const auto found = all_.find(static_cast<Memory*>(handle));
  if (found == all_.end())
    throw Refusal(ncclInvalidArgument, "handle is none of this communicator's, or is deregistered already");
  delete *found;
  all_.erase(found);
}

}  // namespace tutti::nccl_interface

using namespace tutti::nccl_interface;

extern "C" {

ncclResult_t ncclMemAlloc(void** ptr, size_t size) {
  return answer(__func__, [&] {
    require(ptr, "ptr");
    const tutti::detail::BesideCaptures beside;
    check(cudaMalloc(ptr, size), "cudaMalloc");
    return ncclSuccess;
  });
}

ncclResult_t ncclMemFree(void* ptr) {
  return answer(__func__, [&] {
    const tutti::detail::BesideCaptures beside;
    check(cudaFree(ptr), "cudaFree");
    return ncclSuccess;
  });
}

ncclResult_t ncclCommRegister(const ncclComm_t comm, void* buff, size_t size, void** handle) {
  return answer(__func__, [&] {
    const auto its = communicator(comm);
    require(buff, "buff");
    require(handle, "handle");
    if (size == 0) throw Refusal(ncclInvalidArgument, "size is 0");
    *handle = its->registrations.add(buff, size);
    return ncclSuccess;
  });
}

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle) {
  return answer(__func__, [&] {
    const auto its = communicator(comm);
    require(handle, "handle");
    its->registrations.remove(handle);
    return ncclSuccess;
  });
}

/// A null window is nccl.h's word for memory that could not be made symmetric: calls on it work as before.
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* buff, size_t size, ncclWindow_t* win, int winFlags) {
  return answer(__func__, [&] {
    communicator(comm);
    require(buff, "buff");
    require(win, "win");
    if (size == 0) throw Refusal(ncclInvalidArgument, "size is 0");
    if ((winFlags & ~NCCL_WIN_COLL_SYMMETRIC) != 0)
      throw Refusal(ncclInvalidArgument, fmt::format("winFlags {:#x} has flags that do not exist", winFlags));
    *win = nullptr;
    return ncclSuccess;
  });
}

ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t win) {
  return answer(__func__, [&] {
    communicator(comm);
    if (win) throw Refusal(ncclInvalidArgument, "win was not made by ncclCommWindowRegister");
    return ncclSuccess;
  });
}

}  // extern "C"
