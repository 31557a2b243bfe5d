#include "collectives/device_cuda.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "collectives/native_device.hpp"
#include "kernels/launch_cuda.hpp"

namespace tutti {
namespace detail {

void check_cuda(cudaError_t result, const char* call) {
  if (result == cudaSuccess) return;
  cudaGetLastError();  // an error that is thrown shall not come back from a later call
  int device = -1;
  cudaGetDevice(&device);
  throw Error(ErrorCode::system,
              fmt::format("{} on GPU {}: {} ({})", call, device, cudaGetErrorString(result), cudaGetErrorName(result)));
}
void check_cuda(int result, const char* call) { check_cuda(static_cast<cudaError_t>(result), call); }

OnDevice::OnDevice(int device) {
  check_cuda(cudaGetDevice(&before_), "cudaGetDevice");
  if (before_ == device)
    before_ = -1;
  else
    check_cuda(cudaSetDevice(device), "cudaSetDevice");
}
OnDevice::~OnDevice() {
  if (before_ >= 0) cudaSetDevice(before_);
}

DeviceSession::DeviceSession(Bootstrap& bootstrap, int device, std::chrono::nanoseconds timeout)
    : device_(device), ranks_(bootstrap.size()), timeout_(timeout) {
  const OnDevice current(device);
  const std::size_t bytes = static_cast<std::size_t>(kMaxSegments) * static_cast<std::size_t>(ranks_) * sizeof(char*);
  try {
    together(bootstrap, [&] {
      check_cuda(cudaStreamCreateWithFlags(&quiet_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
      check_cuda(cudaMalloc(reinterpret_cast<void**>(&segments_), bytes), "cudaMalloc");
      check_cuda(cudaMemsetAsync(segments_, 0, bytes, quiet_), "cudaMemsetAsync");
      check_cuda(cudaStreamSynchronize(quiet_), "cudaStreamSynchronize");
      check_cuda(load_kernels(&resident_blocks_), "loading the kernels");
    });
  } catch (...) {
    if (segments_) cudaFree(segments_);
    if (quiet_) cudaStreamDestroy(quiet_);
    throw;
  }
  for (const int theirs : bootstrap.all_gather(resident_blocks_)) resident_blocks_ = std::min(resident_blocks_, theirs);
}

DeviceSession::~DeviceSession() {
  cudaSetDevice(device_);
  close_retired();  // its communicators are gone, so no call is in flight
  cudaFree(segments_);
  cudaStreamDestroy(quiet_);
  // Shares that are still retired may be mapped by a peer; they go with the process.
}

void DeviceSession::publish(int segment, char* const* bases) {
  const OnDevice current(device_);
  const std::size_t row = static_cast<std::size_t>(ranks_);
  check_cuda(cudaMemcpyAsync(segments_ + static_cast<std::size_t>(segment) * row, bases, row * sizeof(char*),
                             cudaMemcpyHostToDevice, quiet_),
             "cudaMemcpyAsync");
  check_cuda(cudaStreamSynchronize(quiet_), "cudaStreamSynchronize");
}

void DeviceSession::withdraw(int segment) {
  {
    const OnDevice current(device_);
    const std::lock_guard lock(mutex_);
    if (is_busy()) return retired_segments_.push_back(segment);
  }
  publish(segment, std::vector<char*>(static_cast<std::size_t>(ranks_)).data());
}

cudaEvent_t DeviceSession::make_end() {
  cudaEvent_t end = nullptr;
  check_cuda(cudaEventCreateWithFlags(&end, cudaEventDisableTiming), "cudaEventCreateWithFlags");
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

void DeviceSession::expect_idle(Bootstrap& bootstrap, const char* what) {
  together(bootstrap, [&] {
    const OnDevice current(device_);
    const std::lock_guard lock(mutex_);
    if (is_busy())
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{} while a call is in flight on GPU {}; first wait for its handle, or synchronise its "
                              "stream, on every rank",
                              what, device_));
  });
}

void DeviceSession::retire(std::uint64_t serial, void* share, std::vector<void*> mappings) {
  const std::lock_guard lock(mutex_);
  retired_.push_back({serial, share, std::move(mappings)});
}

void DeviceSession::retire_host(void* memory) {
  const std::lock_guard lock(mutex_);
  retired_host_.push_back(memory);
}

void DeviceSession::close_retired() {
  std::vector<int> segments;
  {
    const std::lock_guard lock(mutex_);
    for (Retired& retired : retired_) {
      for (void* const mapping : retired.mappings) cudaIpcCloseMemHandle(mapping);
      retired.mappings.clear();
    }
    for (void* const memory : retired_host_) cudaFreeHost(memory);
    retired_host_.clear();
    segments.swap(retired_segments_);
  }
  for (const int segment : segments) publish(segment, std::vector<char*>(static_cast<std::size_t>(ranks_)).data());
}

void DeviceSession::free_retired(Bootstrap& bootstrap) {
  const OnDevice current(device_);
  close_retired();                     // before the peers hear of it
  constexpr std::size_t kAtOnce = 16;  // serials that a rank names; the oldest, so that none is left behind for ever
  using Serials = std::array<std::uint64_t, kAtOnce>;
  Serials mine{};
  {
    const std::lock_guard lock(mutex_);
    std::sort(retired_.begin(), retired_.end(), [](const Retired& a, const Retired& b) { return a.serial < b.serial; });
    std::size_t named = 0;
    for (const Retired& retired : retired_)
      if (retired.mappings.empty() && named < kAtOnce) mine[named++] = retired.serial;
  }
  const std::vector<Serials> all = bootstrap.all_gather(mine);
  const auto retired_by_all = [&](std::uint64_t serial) {
    return std::all_of(all.begin(), all.end(),
                       [&](const Serials& theirs) { return std::count(theirs.begin(), theirs.end(), serial) != 0; });
  };
  const std::lock_guard lock(mutex_);
  std::erase_if(retired_, [&](const Retired& retired) {
    if (!retired_by_all(retired.serial)) return false;
    cudaFree(retired.share);
    return true;
  });
}

}  // namespace detail

namespace {

constexpr int kMostDevices = 16;

/// What a rank sees: its devices by UUID.
struct Visible {
  int count;
  int error;
  cudaUUID_t devices[kMostDevices];
};

Visible look() {
  Visible visible{};
  int count = 0;  // stays untouched without a driver
  visible.error = cudaGetDeviceCount(&count);
  if (visible.error != cudaSuccess) {
    cudaGetLastError();
    return visible;
  }
  visible.count = std::min(count, kMostDevices);
  for (int d = 0; d < visible.count; ++d) {
    cudaDeviceProp properties;
    visible.error = cudaGetDeviceProperties(&properties, d);
    if (visible.error != cudaSuccess) return visible;
    visible.devices[d] = properties.uuid;
  }
  return visible;
}

bool same(const cudaUUID_t& a, const cudaUUID_t& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

/// The device of `rank`: the one that it sees alone, else the one of its number.
int device_of(int rank, const Visible& visible) { return visible.count == 1 ? 0 : rank; }

/// Why the ranks cannot have a GPU each that reaches all others; empty if they can. The same text on all ranks.
std::string obstacle(Bootstrap& bootstrap, const std::vector<Visible>& all) {
  const int ranks = bootstrap.size(), me = bootstrap.rank();
  for (int r = 0; r < ranks; ++r) {
    const Visible& visible = all[static_cast<std::size_t>(r)];
    if (visible.error != cudaSuccess)
      return fmt::format("rank {} found no usable GPU: {}", r,
                         cudaGetErrorString(static_cast<cudaError_t>(visible.error)));
    if (visible.count == 0) return fmt::format("rank {} sees no GPU", r);
    if (device_of(r, visible) >= visible.count)
      return fmt::format("{} ranks, but rank {} sees {} GPUs; this version needs one GPU per rank", ranks, r,
                         visible.count);
    for (int q = 0; q < r; ++q) {
      const Visible& other = all[static_cast<std::size_t>(q)];
      if (same(visible.devices[device_of(r, visible)], other.devices[device_of(q, other)]))
        return fmt::format("ranks {} and {} would share a GPU; this version needs one GPU per rank", q, r);
    }
  }
  // A peer's device may be invisible here (a launcher that gives each process one); then the probe of the memory
  // decides.
  const Visible& mine = all[static_cast<std::size_t>(me)];
  int unreachable = -1;
  for (int r = 0; r < ranks; ++r) {
    const Visible& theirs = all[static_cast<std::size_t>(r)];
    for (int d = 0; d < mine.count; ++d) {
      int reaches = 1;
      if (r != me && same(mine.devices[d], theirs.devices[device_of(r, theirs)]) &&
          cudaDeviceCanAccessPeer(&reaches, device_of(me, mine), d) == cudaSuccess && !reaches)
        unreachable = r;
    }
  }
  const std::vector<int> unreachables = bootstrap.all_gather(unreachable);
  for (int r = 0; r < ranks; ++r)
    if (unreachables[static_cast<std::size_t>(r)] >= 0)
      return fmt::format("the GPU of rank {} cannot reach that of rank {}; tutti needs peer access between all", r,
                         unreachables[static_cast<std::size_t>(r)]);
  return {};
}

/// Ranks that are threads reach each other's memory by its pointers, once their devices may.
void enable_peers(Bootstrap& bootstrap, const std::vector<Visible>& all, int device) {
  detail::together(bootstrap, [&] {
    if (!bootstrap.shares_memory()) return;
    const detail::OnDevice current(device);
    for (int r = 0; r < bootstrap.size(); ++r) {
      if (r == bootstrap.rank()) continue;
      const cudaError_t result = cudaDeviceEnablePeerAccess(device_of(r, all[static_cast<std::size_t>(r)]), 0);
      if (result == cudaErrorPeerAccessAlreadyEnabled)
        cudaGetLastError();
      else
        detail::check_cuda(result, "cudaDeviceEnablePeerAccess");
    }
  });
}

}  // namespace

std::shared_ptr<detail::DeviceSession> device_session(Bootstrap& bootstrap, std::chrono::nanoseconds timeout) {
  const DeviceWish wish = agreed_device_wish(bootstrap);
  if (wish == DeviceWish::cpu) return nullptr;

  // Sends and receives run beside each other on streams of their own; with the default of 8 queues, one stream's kernel
  // could wait behind another's. Read when the process first uses its GPU.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  const std::vector<Visible> all = bootstrap.all_gather(look());
  const std::string why_not = obstacle(bootstrap, all);
  if (why_not.empty()) {
    const int device = device_of(bootstrap.rank(), all[static_cast<std::size_t>(bootstrap.rank())]);
    enable_peers(bootstrap, all, device);
    auto session = std::make_shared<detail::DeviceSession>(bootstrap, device, timeout);
    detail::check_cuda(cudaSetDevice(device), "cudaSetDevice");  // what the caller allocates next belongs to this rank
    return session;
  }
  return without_gpu(bootstrap, wish, why_not);
}

}  // namespace tutti
