#include "collectives/nccl_watch.hpp"

#include "collectives/device_cuda.hpp"
#include "collectives/streams_cuda.hpp"

namespace tutti {

using detail::check_cuda;

NcclWatch::NcclWatch(int device, std::chrono::nanoseconds timeout, Step step)
    : device_(device), timeout_(timeout), step_(std::move(step)) {}

NcclWatch::~NcclWatch() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  for (const Entry& entry : running_) spare_.push_back(entry);
  spare_.push_back(next_);
  for (const Entry& entry : spare_) {
    if (entry.begin) cudaEventDestroy(entry.begin);
    if (entry.end) cudaEventDestroy(entry.end);
  }
}

void NcclWatch::begin(cudaStream_t stream) {
  if (!next_.begin) {
    const std::lock_guard lock(mutex_);
    if (!spare_.empty()) {
      next_ = spare_.back();
      spare_.pop_back();
    }
  }
  for (cudaEvent_t* const event : {&next_.begin, &next_.end})
    if (!*event) check_cuda(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  check_cuda(cudaEventRecord(next_.begin, stream), "cudaEventRecord");
}

void NcclWatch::end(cudaStream_t stream, const Request& request) {
  check_cuda(cudaEventRecord(next_.end, stream), "cudaEventRecord");
  next_.request = request;
  next_.since = {};
  const std::lock_guard lock(mutex_);
  running_.push_back(next_);
  next_ = {};
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  if (running_.size() == 1) wake_.notify_all();
}

bool NcclWatch::is_overdue() {
  while (!running_.empty()) {
    Entry& first = running_.front();
    const cudaError_t ended = cudaEventQuery(first.end);
    if (ended == cudaErrorNotReady) {
      if (cudaEventQuery(first.begin) != cudaSuccess) return false;
      const auto now = std::chrono::steady_clock::now();
      if (first.since.time_since_epoch().count() == 0) first.since = now;
      return now - first.since > timeout_;
    }
    // Also if the device has failed: whoever calls next hears of it.
    spare_.push_back(first);
    running_.pop_front();
  }
  return false;
}

void NcclWatch::work() {
  cudaSetDevice(device_);
  // Queries of an own thread would spoil captures of others. The mode is this thread's, for as long as it lives.
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  cudaThreadExchangeStreamCaptureMode(&mode);
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (running_.empty()) {
      wake_.wait(lock, [&] { return stop_ || !running_.empty(); });
      continue;
    }
    const bool overdue = is_overdue();
    cudaGetLastError();
    if (running_.empty()) continue;
    const Request request = running_.front().request;
    lock.unlock();  // step_ takes the caller's lock, whose holder may wait for this one
    const bool over = step_(request, overdue);
    lock.lock();
    if (over) return;
    wake_.wait_for(lock, std::chrono::milliseconds(100), [&] { return stop_; });
  }
}

}  // namespace tutti
