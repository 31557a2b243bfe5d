#include "tests/emulator/runtime/streams.hpp"

#include <system_error>
#include <thread>
#include <utility>

#include "tests/emulator/runtime/capture.hpp"
#include "tests/emulator/runtime/devices.hpp"
#include "tests/emulator/runtime/errors.hpp"
#include "tests/emulator/runtime/signals_blocked.hpp"

namespace tutti::emulated {
namespace {

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{2};  // 1 and 2 name the default streams
  return ++last;
}

}  // namespace

Stream::Stream(Device& device, Kind kind, unsigned flags, int priority)
    : device_(device), kind_(kind), flags_(flags), priority_(priority), number_(next_number()) {}

Point Stream::push(Operation operation, std::vector<Point> after) {
  std::lock_guard lock(mutex_);
  if (!has_worker_) {
    const SignalsBlocked blocked;
    try {
      std::thread([self = shared_from_this()] { self->work(); }).detach();
    } catch (const std::system_error&) {
      say("the system gives no thread for a stream");
      throw Failure(cudaErrorMemoryAllocation);
    }
    has_worker_ = true;
  }
  queue_.push_back({std::move(operation), std::move(after)});
  const std::uint64_t ticket = given_.load() + 1;
  given_.store(ticket, std::memory_order_release);
  more_.notify_one();
  return {shared_from_this(), ticket};
}

void Stream::close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  more_.notify_one();
}

void Stream::wait(std::uint64_t ticket) {
  std::unique_lock lock(mutex_);
  less_.wait(lock, [&] { return ended(ticket); });
}

void Stream::work() {
  set_current_index(device_.index());
  std::unique_lock lock(mutex_);
  while (true) {
    more_.wait(lock, [&] { return !queue_.empty() || closed_; });
    if (queue_.empty()) return;
    {
      Queued next = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      for (const Point& point : next.after) point.stream->wait(point.ticket);
      // After a fault nothing runs, but what waits for a record or for the stream must hear of it.
      if (!device_.failed() || std::holds_alternative<EventRecord>(next.operation)) {
        try {
          perform(next.operation, device_);
        } catch (const DeviceFault& fault) {
          device_.fail(fault);
        } catch (const Failure& failure) {
          device_.fail(DeviceFault(failure.code(), failure.what()));
        }
      }
      // What the operation owns is gone before anyone hears that it has ended.
    }
    lock.lock();
    ended_.fetch_add(1, std::memory_order_acq_rel);
    less_.notify_all();
  }
}

std::shared_ptr<Capture> Stream::capture() const {
  std::lock_guard lock(mutex_);
  return capture_;
}

void Stream::set_capture(std::shared_ptr<Capture> capture) {
  std::lock_guard lock(mutex_);
  capture_ = std::move(capture);
}

void submit(const std::shared_ptr<Stream>& stream, Operation operation) {
  refuse_to_join_implicitly(*stream);
  if (const auto capture = stream->capture())
    capture->append(*stream, std::move(operation));
  else
    refuse_to_join_implicitly(*stream), stream->device().submit(*stream, std::move(operation));
}

void submit_and_wait(const std::shared_ptr<Stream>& stream, Operation operation) {
  refuse_to_join_implicitly(*stream);
  if (const auto capture = stream->capture()) {
    capture->invalidate();
    throw Failure(cudaErrorStreamCaptureUnsupported);
  }
  refuse_to_join_implicitly(*stream);
  stream->wait(stream->device().submit(*stream, std::move(operation)).ticket);
  stream->device().require_healthy();
}

}  // namespace tutti::emulated
