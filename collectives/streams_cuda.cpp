#include "collectives/streams_cuda.hpp"

#include <fmt/format.h>

#include "collectives/device_cuda.hpp"

namespace tutti::detail {

BesideCaptures::BesideCaptures() {
  check_cuda(cudaThreadExchangeStreamCaptureMode(&mode_), "cudaThreadExchangeStreamCaptureMode");
}
BesideCaptures::~BesideCaptures() { cudaThreadExchangeStreamCaptureMode(&mode_); }

unsigned long long capture_of(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  check_cuda(cudaStreamGetCaptureInfo(stream, &status, &id), "cudaStreamGetCaptureInfo");
  if (status == cudaStreamCaptureStatusInvalidated)
    throw Error(ErrorCode::invalid_argument, "the capture of this stream has been spoilt by an earlier error; end it");
  return status == cudaStreamCaptureStatusActive ? id : 0;
}

void expect_no_capture(const char* call) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaError_t result = cudaStreamIsCapturing(cudaStreamLegacy, &status);
  if (result == cudaErrorStreamCaptureImplicit) {
    cudaGetLastError();
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: a call without a stream comes after the default stream, and a stream that waits for "
                            "that one is being captured; give the call the stream, or make it after the capture",
                            call));
  }
  check_cuda(result, "cudaStreamIsCapturing");
}

void expect_handle_possible(cudaStream_t stream, const char* call) {
  if (!stream) return expect_no_capture(call);
  if (capture_of(stream) != 0)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: a handle cannot wait for what is captured into a graph; on a stream the call that "
                            "returns no handle returns at once, too",
                            call));
}

}  // namespace tutti::detail
