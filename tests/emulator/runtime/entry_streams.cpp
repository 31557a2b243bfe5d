#include <algorithm>

#include "tests/emulator/runtime/entry.hpp"

namespace {

using namespace tutti::emulated;

constexpr int kGreatestPriority = -5, kLeastPriority = 0;

/// Calls that ask how far a stream is make no sense while it is captured.
void refuse_captured_stream(const std::shared_ptr<Stream>& stream) {
  if (const auto capture = stream->capture()) {
    capture->invalidate();
    throw Failure(cudaErrorStreamCaptureUnsupported);
  }
  refuse_to_join_implicitly(*stream);
}

bool idle(const std::shared_ptr<Stream>& stream) {
  if (stream->kind() != Stream::Kind::legacy) return stream->ended(stream->given());
  // What is asked of the legacy stream comes after all work of the blocking ones.
  return std::ranges::all_of(stream->device().all_work(), [](const Point& point) {
    return !point.stream->blocking() || point.stream->ended(point.ticket);
  });
}

}  // namespace

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return entry([&](Device& device) {
    require(stream != nullptr && (flags & ~static_cast<unsigned>(cudaStreamNonBlocking)) == 0, cudaErrorInvalidValue);
    const int bounded = std::clamp(priority, kGreatestPriority, kLeastPriority);
    *stream = reinterpret_cast<cudaStream_t>(device.create_stream(flags, bounded).get());
  });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, kLeastPriority);
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  return entry([&](Device&) {
    const auto stream = stream_of(handle);
    require(stream->kind() == Stream::Kind::created, cudaErrorInvalidResourceHandle);
    if (const auto capture = stream->capture()) capture->invalidate();
    stream->device().destroy_stream(*stream);
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return entry([&](Device&) {
    const auto stream = stream_of(handle);
    refuse_captured_stream(stream);
    if (stream->kind() == Stream::Kind::legacy)
      for (const Point& point : stream->device().all_work()) {
        if (point.stream->blocking()) point.stream->wait(point.ticket);
      }
    else
      stream->wait(stream->given());
    stream->device().require_healthy();
  });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return entry([&](Device&) {
    const auto stream = stream_of(handle);
    refuse_captured_stream(stream);
    require(idle(stream), cudaErrorNotReady);
    stream->device().require_healthy();
  });
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  return entry([&](Device&) { *flags = stream_of(stream)->flags(); });
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return entry([&](Device&) { *priority = stream_of(stream)->priority(); });
}

cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  return entry([&](Device&) { *id = stream_of(stream)->number(); });
}

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  return entry([&](Device&) { *device = stream_of(stream)->device().index(); });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return entry([&](Device&) {
    if (least) *least = kLeastPriority;
    if (greatest) *greatest = kGreatestPriority;
  });
}

cudaError_t cudaDeviceSynchronize() {
  return entry(
      [](Device& device) {
        device.synchronize();
        device.require_healthy();
      },
      WhileCapturing::unsafe);
}

extern "C" {

cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream) { return cudaStreamSynchronize(per_thread(stream)); }
cudaError_t cudaStreamQuery_ptsz(cudaStream_t stream) { return cudaStreamQuery(per_thread(stream)); }
cudaError_t cudaStreamGetFlags_ptsz(cudaStream_t stream, unsigned* flags) {
  return cudaStreamGetFlags(per_thread(stream), flags);
}
cudaError_t cudaStreamGetPriority_ptsz(cudaStream_t stream, int* priority) {
  return cudaStreamGetPriority(per_thread(stream), priority);
}
cudaError_t cudaStreamGetId_ptsz(cudaStream_t stream, unsigned long long* id) {
  return cudaStreamGetId(per_thread(stream), id);
}
cudaError_t cudaStreamGetDevice_ptsz(cudaStream_t stream, int* device) {
  return cudaStreamGetDevice(per_thread(stream), device);
}

}  // extern "C"
