#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

#include "tests/emulator/runtime/operations.hpp"

namespace tutti::emulated {

class Stream;
class Event;

/// Where the work of a capturing stream goes instead of its queue. Streams::submit and the entry points of events ask
/// Stream::capture() first and call these.
class Capture {
 public:
  virtual ~Capture() = default;
  /// The operation becomes a node after the stream's last ones.
  virtual void append(Stream& stream, Operation operation) = 0;
  /// The event stands for the stream's last nodes, until it is recorded again.
  virtual void record(Stream& stream, const std::shared_ptr<Event>& event, unsigned flags) = 0;
  /// The stream, of this capture or not capturing yet, continues after the event's nodes as well. An event that was
  /// recorded outside is external (cudaEventWaitExternal) or isolates the capture: throws.
  virtual void await(Stream& stream, const std::shared_ptr<Event>& event, unsigned flags) = 0;
  /// The stream was asked for something that only a running stream knows (synchronise, query): the capture is invalid.
  virtual void invalidate() = 0;
};

/// Throws cudaErrorStreamCaptureUnsupported, and invalidates the captures that it concerns, if the calling thread's
/// capture mode forbids unsafe calls now.
void refuse_while_capturing();

/// Throws cudaErrorStreamCaptureImplicit if the stream is the legacy one of a device of which a blocking stream is
/// being captured: work given to it would join the capture, which this invalidates if `spoils`.
void refuse_to_join_implicitly(const Stream& stream, bool spoils = true);

/// Throws cudaErrorCapturedEvent, and invalidates the capture, if the event was recorded last in a capture: only a
/// stream may wait for it, and no more after that capture.
void refuse_captured(const Event& event);

/// Does for a capture what cudaEventRecordWithFlags asks for; false if the stream is not being captured, and nothing is
/// done but that the event no longer stands for nodes.
bool captured_record(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Event>& event, unsigned flags);

/// The same for cudaStreamWaitEvent; false if neither stream nor event is of a capture.
bool captured_wait(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Event>& event, unsigned flags);

}  // namespace tutti::emulated
