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
  virtual void record(Stream& stream, Event& event, unsigned flags) = 0;
  /// The stream, of this capture or not capturing yet, continues after the event's nodes as well. An event that was
  /// recorded outside is external (cudaEventWaitExternal) or isolates the capture: throws.
  virtual void await(Stream& stream, Event& event, unsigned flags) = 0;
  /// The stream was asked for something that only a running stream knows (synchronise, query): the capture is invalid.
  virtual void invalidate() = 0;
};

/// Throws cudaErrorStreamCaptureUnsupported, and invalidates the captures that it concerns, if the calling thread's
/// capture mode forbids unsafe calls now.
void refuse_while_capturing();

}  // namespace tutti::emulated
