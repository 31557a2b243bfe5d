// Memory on a communicator's device for what a call computes before its collective.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace tutti::nccl_interface {

class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// `bytes` bytes for one call on `stream`. Done before any call of the group is launched: to allocate could wait for
  /// a kernel that waits for a peer. A call that is captured into a graph gets memory that lives as long as that.
  void* reserve(std::size_t bytes, cudaStream_t stream);
  /// Around the use of what `reserve` gave, in `stream`: after its former uses, before the next ones.
  void begin(cudaStream_t stream);
  void end(cudaStream_t stream);
  /// Frees it all; on its device, when no call is in flight.
  void release();

 private:
  std::vector<void*> blocks_;  ///< the last is the largest and newest; earlier ones may still be in use
  std::size_t bytes_ = 0;      ///< of the last
  cudaEvent_t used_ = nullptr;
};

}  // namespace tutti::nccl_interface
