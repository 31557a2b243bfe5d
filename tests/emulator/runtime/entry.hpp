#pragma once

#include <functional>
#include <new>

#include "tests/emulator/runtime/capture.hpp"
#include "tests/emulator/runtime/devices.hpp"
#include "tests/emulator/runtime/errors.hpp"

namespace tutti::emulated {

/// May the call be made while a stream is being captured? (cudaStreamCaptureMode: "potentially unsafe API calls")
enum class WhileCapturing { allowed, unsafe };

/// Is the calling thread in a function that a stream calls (cudaLaunchHostFunc), where no call is permitted?
bool in_host_function();
/// Calls it as one.
void call_host_function(const std::function<void()>& function);

/// Runs the body of an entry point that needs no device: its Failure becomes the result, which is remembered.
template <class Body>
cudaError_t entry_without_device(Body body) {
  try {
    body();
    return cudaSuccess;
  } catch (const Failure& failure) {
    return noted(failure.code());
  } catch (const std::bad_alloc&) {
    return noted(cudaErrorMemoryAllocation);
  }
}

/// The same for an entry point that works on the current device, which is passed to the body: what went wrong there
/// before is the result, and a body that throws nothing succeeded.
template <class Body>
cudaError_t entry(Body body, WhileCapturing unsafe = WhileCapturing::allowed) {
  return entry_without_device([&] {
    require(!in_host_function(), cudaErrorNotPermitted);
    Device& device = current_device();
    device.require_healthy();
    if (unsafe == WhileCapturing::unsafe) refuse_while_capturing();
    body(device);
  });
}

}  // namespace tutti::emulated
