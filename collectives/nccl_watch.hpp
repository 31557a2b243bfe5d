// Bounds calls on streams, for which nobody waits on the host: NCCL itself waits for ever.
#pragma once
#include <cuda_runtime_api.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "collectives/backend.hpp"

namespace tutti {

/// What stands between two events of a stream, looked at ten times a second by a thread of its own.
class NcclWatch {
 public:
  /// `step` hears of the call that runs and whether it has for `timeout`, on the watch's thread; true ends the watch.
  using Step = std::function<bool(const Request& running, bool overdue)>;
  NcclWatch(int device, std::chrono::nanoseconds timeout, Step step);
  ~NcclWatch();
  NcclWatch(const NcclWatch&) = delete;
  NcclWatch& operator=(const NcclWatch&) = delete;

  /// Between `begin` and `end` one call is enqueued on `stream`.
  void begin(cudaStream_t stream);
  void end(cudaStream_t stream, const Request& request);

 private:
  struct Entry {
    cudaEvent_t begin = nullptr;
    cudaEvent_t end = nullptr;
    Request request;
    std::chrono::steady_clock::time_point since{};  ///< when it was first seen to run
  };
  void work();
  bool is_overdue();  ///< under the mutex: the first call that has not ended

  const int device_;
  const std::chrono::nanoseconds timeout_;
  const Step step_;
  std::mutex mutex_;
  std::condition_variable wake_;
  Entry next_;
  std::deque<Entry> running_;
  std::vector<Entry> spare_;
  std::thread thread_;
  bool stop_ = false;
};

}  // namespace tutti
