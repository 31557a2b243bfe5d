#include "collectives/device_cuda.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collectives/geometry_gpu.hpp"
#include "collectives/multicast_cuda.hpp"
#include "collectives/streams_cuda.hpp"
#include "collectives/virtual_memory_cuda.hpp"
#include "kernels/launch_cuda.hpp"

namespace tutti::detail {

void check_cuda(cudaError_t result, const char* call) {
  if (result == cudaSuccess) return;
  cudaGetLastError();  // an error that is thrown shall not come back from a later call
  int device = -1;
  cudaGetDevice(&device);
  const bool capture = result >= cudaErrorStreamCaptureUnsupported && result <= cudaErrorStreamCaptureWrongThread;
  throw Error(
      capture ? ErrorCode::invalid_argument : ErrorCode::system,
      fmt::format(
          "{} on GPU {}: {} ({}){}", call, device, cudaGetErrorString(result), cudaGetErrorName(result),
          capture ? "; a stream is being captured into a graph: give the call that stream, or make it outside" : ""));
}
void check_cuda(int result, const char* call) { check_cuda(static_cast<cudaError_t>(result), call); }

OnDevice::OnDevice(int device) {
  check_cuda(cudaGetDevice(&before_), "cudaGetDevice");
  if (before_ == device)
    before_ = -1;
  else
    check_cuda(cudaSetDevice(device), "cudaSetDevice");
}
OnDevice::OnDevice(int device, std::nothrow_t) noexcept {
  if (cudaGetDevice(&before_) != cudaSuccess) before_ = -1;
  cudaSetDevice(device);
}
OnDevice::~OnDevice() {
  if (before_ >= 0) cudaSetDevice(before_);
}

namespace {

/// What TUTTI_GPU_MEMORY asks for.
std::string_view asked_memory() {
  const char* const asked = std::getenv("TUTTI_GPU_MEMORY");
  return asked && *asked ? asked : "malloc";
}

/// Whether it asks for segments of virtual memory, which multicast needs too.
bool wants_virtual_memory(int device) {
  const std::string_view name = asked_memory();
  if (name != "malloc" && name != "vmm" && name != "multicast")
    throw Error(ErrorCode::invalid_argument,
                fmt::format("TUTTI_GPU_MEMORY is '{}'; use malloc, vmm or multicast", name));
  if (name == "malloc") return false;
  if (const std::string lack = lack_of_virtual_memory(device); !lack.empty())
    throw Error(ErrorCode::unsupported,
                fmt::format("TUTTI_GPU_MEMORY is {}, but GPU {}: {}; use malloc", name, device, lack));
  return true;
}

}  // namespace

DeviceSession::DeviceSession(Bootstrap& bootstrap, const DevicePlan& plan, std::chrono::nanoseconds timeout)
    : plan_(plan), session_ranks_(bootstrap.size()), timeout_(timeout) {
  const OnDevice current(device());
  const std::size_t bytes =
      static_cast<std::size_t>(kMaxSegments) * static_cast<std::size_t>(session_ranks_) * sizeof(char*);
  int resident = 0;
  try {
    together(bootstrap, [&] {
      virtual_memory_ = wants_virtual_memory(device());
      check_cuda(cudaStreamCreateWithFlags(&quiet_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
      check_cuda(cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
      check_cuda(cudaEventCreateWithFlags(&default_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
      check_cuda(cudaMalloc(reinterpret_cast<void**>(&segments_), bytes), "cudaMalloc");
      check_cuda(cudaMemsetAsync(segments_, 0, bytes, quiet_), "cudaMemsetAsync");
      check_cuda(cudaStreamSynchronize(quiet_), "cudaStreamSynchronize");
      if (plan_.own_kernels) check_cuda(load_kernels(&resident), "loading the kernels");
    });
    for (const int theirs : bootstrap.all_gather(static_cast<int>(virtual_memory_)))
      if (theirs != static_cast<int>(virtual_memory_))
        throw Error(ErrorCode::invalid_argument, "TUTTI_GPU_MEMORY differs between ranks; give all the same");
    const bool could =
        asked_memory() == "multicast" && session_ranks_ > 1 && plan_.ranks_here == 1 && can_multicast(device());
    const std::vector<char> all = bootstrap.all_gather(static_cast<char>(could));
    multicast_ = std::find(all.begin(), all.end(), 0) == all.end();
    for (const int theirs : bootstrap.all_gather(resident)) resident = std::min(resident, theirs);
    free_blocks_ = resident / plan_.ranks_here;
  } catch (...) {
    release();
    throw;
  }
}

void DeviceSession::release() {
  if (segments_) cudaFree(segments_);
  if (default_) cudaEventDestroy(default_);
  if (copies_) cudaStreamDestroy(copies_);
  if (quiet_) cudaStreamDestroy(quiet_);
}

DeviceSession::~DeviceSession() {
  // Its end may come in a call of another session, which goes on with its own device: graphs keep sessions.
  const OnDevice current(device(), std::nothrow);
  close_retired();  // its communicators are gone, so no call is in flight
  release();
}

void DeviceSession::follow_default(cudaStream_t stream) {
  check_cuda(cudaEventRecord(default_, cudaStreamLegacy), "cudaEventRecord");
  check_cuda(cudaStreamWaitEvent(stream, default_, 0), "cudaStreamWaitEvent");
}

void DeviceSession::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  const OnDevice current(device());
  expect_no_capture("copy");
  const BesideCaptures beside;
  follow_default(copies_);
  check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, copies_), "cudaMemcpyAsync");
  check_cuda(cudaStreamSynchronize(copies_), "cudaStreamSynchronize");
}

Blocks DeviceSession::reserve_blocks(Bootstrap& bootstrap) {
  const int ranks = bootstrap.size();
  if (ranks == 1) return {};  // it has no peers to wait for
  const Geometry most = gpu_geometry(ranks);
  const std::vector<int> all = bootstrap.all_gather(free_blocks_.load());
  const int free = *std::min_element(all.begin(), all.end());
  const Blocks part = part_of(free, ranks, most.blocks, most.message_blocks);
  if (part.collective == 0)
    throw Error(
        ErrorCode::unsupported,
        fmt::format("communicator: {} ranks need {} blocks of tutti's kernels to run at once, and {} are left on "
                    "a GPU here, which {} of the session's ranks share; destroy other communicators, or use "
                    "fewer ranks or more GPUs",
                    ranks, Blocks{1, 1}.of(ranks), free, plan_.ranks_here));
  free_blocks_ -= part.of(ranks);
  return part;
}

void DeviceSession::give_back(const Blocks& blocks, int ranks) { free_blocks_ += blocks.of(ranks); }

void DeviceSession::publish(int segment, char* const* bases) {
  const OnDevice current(device());
  const std::size_t row = static_cast<std::size_t>(session_ranks_);
  check_cuda(cudaMemcpyAsync(segments_ + static_cast<std::size_t>(segment) * row, bases, row * sizeof(char*),
                             cudaMemcpyHostToDevice, quiet_),
             "cudaMemcpyAsync");
  check_cuda(cudaStreamSynchronize(quiet_), "cudaStreamSynchronize");
}

void DeviceSession::withdraw(int segment) {
  const OnDevice current(device());
  const BesideCaptures beside;
  const std::lock_guard lock(mutex_);
  if (is_any_pending()) return retired_segments_.push_back(segment);
  publish(segment, std::vector<char*>(static_cast<std::size_t>(session_ranks_)).data());
}

void DeviceSession::close_if_idle() {
  const OnDevice current(device());
  const BesideCaptures beside;
  {
    const std::lock_guard lock(mutex_);
    if (is_any_pending()) return;
  }
  close_retired();
}

cudaEvent_t DeviceSession::make_end() {
  cudaEvent_t end = nullptr;
  check_cuda(cudaEventCreateWithFlags(&end, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  // Recorded and past from the beginning, so that a graph may wait for it, and nobody takes it for a call in flight.
  check_cuda(cudaEventRecord(end, quiet_), "cudaEventRecord");
  check_cuda(cudaStreamSynchronize(quiet_), "cudaStreamSynchronize");
  const std::lock_guard lock(mutex_);
  ends_.push_back(end);
  return end;
}

void DeviceSession::drop_end(cudaEvent_t end) {
  {
    const std::lock_guard lock(mutex_);
    std::erase(ends_, end);
  }
  cudaEventDestroy(end);
}

bool DeviceSession::is_busy() {
  const OnDevice current(device());
  const BesideCaptures beside;
  const std::lock_guard lock(mutex_);
  return is_any_pending();
}

bool DeviceSession::is_any_pending() {
  for (const cudaEvent_t end : ends_) {
    const cudaError_t result = cudaEventQuery(end);
    if (result != cudaErrorNotReady) {
      check_cuda(result, "an earlier call");
      continue;
    }
    cudaGetLastError();
    return true;
  }
  return false;
}

void DeviceSession::expect_idle(Bootstrap& bootstrap, std::span<const int> members, const char* what) {
  const OnDevice current(device());
  const BesideCaptures beside;
  together(bootstrap, [&] {
    const std::lock_guard lock(mutex_);
    if (is_any_pending())
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{} while a call is in flight on GPU {}; first wait for its handle, or synchronise its "
                              "stream, on every rank",
                              what, device()));
  });
  close_retired();  // before the peers hear of it
  retired_.free(bootstrap, members);
}

void DeviceSession::close_retired() {
  retired_.close();
  // Held to the end: whoever finds nothing retired may enter another segment in a row that was.
  const std::lock_guard lock(mutex_);
  std::erase_if(mappings_, [](const auto& entry) { return entry.second.expired(); });
  for (const int segment : std::exchange(retired_segments_, {}))
    publish(segment, std::vector<char*>(static_cast<std::size_t>(session_ranks_)).data());
}

RetiredMemory::Thing DeviceSession::mapping_of(int session_rank, std::uint64_t memory,
                                               const std::function<RetiredMemory::Thing()>& map) {
  const std::pair key(session_rank, memory);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = mappings_.find(key); found != mappings_.end())
      if (RetiredMemory::Thing mapping = found->second.lock()) return mapping;
  }
  RetiredMemory::Thing mapping = map();
  const std::lock_guard lock(mutex_);
  mappings_[key] = mapping;
  return mapping;
}

}  // namespace tutti::detail
