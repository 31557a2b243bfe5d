#include "tests/emulator/runtime/entry.hpp"
#include "tests/emulator/runtime/events.hpp"

namespace {

using namespace tutti::emulated;

constexpr unsigned kEventFlags = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;

void record(const std::shared_ptr<Event>& event, const std::shared_ptr<Stream>& stream, unsigned flags) {
  require((flags & ~static_cast<unsigned>(cudaEventRecordExternal)) == 0, cudaErrorInvalidValue);
  require(event->device() == stream->device().index(), cudaErrorInvalidResourceHandle);
  if (captured_record(stream, event, flags)) return;
  submit(stream, EventRecord{event, event->ask()});
}

}  // namespace

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return entry([&](Device& device) {
    require(event != nullptr && (flags & ~kEventFlags) == 0, cudaErrorInvalidValue);
    // Times are of one process.
    require(!(flags & cudaEventInterprocess) || (flags & cudaEventDisableTiming), cudaErrorInvalidValue);
    *event = enter_event(std::make_shared<Event>(device.index(), flags));
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return entry([&](Device&) { remove_event(event); });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  return entry([&](Device&) { record(event_of(event), stream_of(stream), flags); });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  return entry([&](Device&) {
    const auto event = event_of(handle);
    refuse_captured(*event);
    require(event->happened(event->asked()), cudaErrorNotReady);
    device_at(event->device()).require_healthy();
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  return entry([&](Device&) {
    const auto event = event_of(handle);
    refuse_captured(*event);
    const Device& device = device_at(event->device());
    event->wait(event->asked(), &device.failed_flag());
    device.require_healthy();
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  return entry([&](Device&) {
    require(milliseconds != nullptr, cudaErrorInvalidValue);
    const auto first = event_of(from), last = event_of(to);
    for (const auto& event : {first, last}) {
      refuse_captured(*event);
      require(!(event->flags() & cudaEventDisableTiming) && event->asked() != 0, cudaErrorInvalidResourceHandle);
    }
    require(first->device() == last->device(), cudaErrorInvalidResourceHandle);
    for (const auto& event : {first, last}) require(event->happened(event->asked()), cudaErrorNotReady);
    *milliseconds = static_cast<float>(static_cast<double>(last->when() - first->when()) * 1e-6);
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t waited_for, unsigned flags) {
  return entry([&](Device&) {
    require((flags & ~static_cast<unsigned>(cudaEventWaitExternal)) == 0, cudaErrorInvalidValue);
    const auto stream = stream_of(handle);
    const auto event = event_of(waited_for);
    if (captured_wait(stream, event, flags)) return;
    // An event that nobody recorded is waited for by nobody.
    if (const std::uint64_t ticket = event->asked()) submit(stream, EventWait{event, ticket});
  });
}

extern "C" {

cudaError_t cudaEventRecord_ptsz(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecord(event, per_thread(stream));
}
cudaError_t cudaEventRecordWithFlags_ptsz(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  return cudaEventRecordWithFlags(event, per_thread(stream), flags);
}
cudaError_t cudaStreamWaitEvent_ptsz(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return cudaStreamWaitEvent(per_thread(stream), event, flags);
}

}  // extern "C"
