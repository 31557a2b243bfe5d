// The order among a communicator's calls, whatever streams they name, captured into graphs or not.
//
// A chain is calls that run one after the other. A call waits for `last`, the event behind the one before, and records
// it anew. Inside a capture an event from outside cannot be waited for, so there are two orders: calls of one capture
// follow each other by an event that is part of the capture, an edge of the graph; and the graph as a whole waits for
// `last` where its first call stands and records it behind each of its calls, by nodes that act whenever the graph is
// launched. So a replay comes after all calls and replays that were issued before it, and a later call comes after the
// replay.
#pragma once
#include <cuda_runtime_api.h>

#include <memory>
#include <span>
#include <vector>

#include "collectives/device_cuda.hpp"

namespace tutti {

class Chains {
 public:
  Chains(std::shared_ptr<detail::DeviceSession> device, std::size_t count);
  ~Chains();
  Chains(const Chains&) = delete;
  Chains& operator=(const Chains&) = delete;

  /// The stream of the chain's calls that name none.
  cudaStream_t own_stream(std::size_t chain);
  /// What is enqueued on `stream` from here to `leave` comes after the newest call of each of `chains`, and is that
  /// then. A chain may be named several times.
  void join(cudaStream_t stream, std::span<const std::size_t> chains);
  void leave(cudaStream_t stream, std::span<const std::size_t> chains);
  /// Waits for all calls, and for the replays that are under way.
  void wait();

 private:
  struct Chain {
    cudaStream_t stream = nullptr;
    cudaEvent_t last = nullptr;
    cudaEvent_t captured = nullptr;  ///< the end of the newest call of `capture`
    unsigned long long capture = 0;
  };
  Chain& at(std::size_t index);

  std::shared_ptr<detail::DeviceSession> device_;
  std::vector<Chain> chains_;
};

}  // namespace tutti
