// Streams that are being captured into a graph, and calls that need none to be.
#pragma once
#include <cuda_runtime_api.h>

namespace tutti::detail {

/// Lets this thread, for a scope, query, wait and allocate though a stream is being captured somewhere: CUDA would
/// refuse it and spoil the capture. What the scope does goes to streams of its own, which no capture sees.
class BesideCaptures {
 public:
  BesideCaptures();
  BesideCaptures(const BesideCaptures&) = delete;
  BesideCaptures& operator=(const BesideCaptures&) = delete;
  ~BesideCaptures();

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// The capture that `stream` takes part in; 0 if in none. Throws if an error has spoilt it.
unsigned long long capture_of(cudaStream_t stream);

/// Throws ErrorCode::invalid_argument, saying what `call` should do instead, if the default stream would join a capture
/// under way on the current device.
void expect_no_capture(const char* call);

/// The same if `stream` is being captured: what is captured runs when its graph is launched, which no handle knows.
void expect_handle_possible(cudaStream_t stream, const char* call);

}  // namespace tutti::detail
