#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace tutti::emulated {

class Device;
class Event;
class Kernel;

/// depth x height rows of width bytes. Every address is the program's; a device's is translated when it runs.
struct Copy {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t width = 0, height = 1, depth = 1;
  std::size_t to_pitch = 0, from_pitch = 0;  ///< from row to row
  std::size_t to_slice = 0, from_slice = 0;  ///< from plane to plane
  cudaMemcpyKind kind = cudaMemcpyDefault;
  std::shared_ptr<std::vector<std::byte>> staged;  ///< owns what `from` points to, when the caller may overwrite his
};

/// depth x height rows of width elements, each of 1, 2 or 4 bytes.
struct Fill {
  void* to = nullptr;
  unsigned value = 0;
  std::size_t element = 1;
  std::size_t width = 0, height = 1, depth = 1;
  std::size_t pitch = 0, slice = 0;  ///< in bytes
};

struct HostCall {
  std::function<void()> call;
};

/// One launch with its own copy of the parameters, laid out as the kernel's parameter space.
struct KernelLaunch {
  const Kernel* kernel = nullptr;
  dim3 grid, block, cluster{1, 1, 1};
  std::size_t dynamic_shared = 0;
  bool cooperative = false;
  std::vector<std::byte> parameters;
};

/// The ticket-th record of the event has happened.
struct EventRecord {
  std::shared_ptr<Event> event;
  std::uint64_t ticket = 0;  ///< 0: the next one, taken when it runs (a graph's node)
};

struct EventWait {
  std::shared_ptr<Event> event;
  std::uint64_t ticket = 0;  ///< 0: the last one when it runs (a graph's node)
};

/// Something else that happens in the order of the stream: stream-ordered memory, a graph's launch.
struct Task {
  std::function<void(Device&)> run;
  std::string what;
};

using Operation = std::variant<Copy, Fill, HostCall, KernelLaunch, EventRecord, EventWait, Task>;

/// Does it now, on the calling thread, and returns when it is done. Throws DeviceFault.
void perform(const Operation& operation, Device& device);

/// Checks what can be known when the call is made: whether the places are memory of the kind that is claimed.
/// Throws Failure.
void check(const Copy& copy);
void check(const Fill& fill);

}  // namespace tutti::emulated
