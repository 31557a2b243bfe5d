// tutti-gpu-limit: what this machine's GPU memory and the links between its GPUs can do, measured by plain copies. It
// is what bench/gpu.sh holds collectives against.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/bandwidth.hpp"
#include "bench/gpu_name.hpp"
#include "bench/statistics.hpp"

namespace tutti::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostBytes = std::size_t{1} << 30;
constexpr int kWarmup = 3, kRounds = 11;

void check(cudaError_t result, const std::string& what) {
  if (result != cudaSuccess) throw std::runtime_error(fmt::format("{}: {}", what, cudaGetErrorString(result)));
}

class Stream {
 public:
  explicit Stream(int device) : device_(device) {
    check(cudaSetDevice(device), fmt::format("GPU {}", device));
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream");
    check(cudaEventCreate(&begin_), "an event");
    check(cudaEventCreate(&end_), "an event");
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
    cudaStreamDestroy(stream_);
  }

  /// Median seconds of what `enqueue(stream)` enqueues.
  template <class Enqueue>
  double time(const Enqueue& enqueue) {
    check(cudaSetDevice(device_), "the stream's GPU");
    std::vector<double> seconds;
    for (int round = 0; round < kWarmup + kRounds; ++round) {
      check(cudaEventRecord(begin_, stream_), "an event");
      check(enqueue(stream_), "a copy");
      check(cudaEventRecord(end_, stream_), "an event");
      check(cudaEventSynchronize(end_), "a copy");
      float milliseconds = 0;
      check(cudaEventElapsedTime(&milliseconds, begin_, end_), "the time of a copy");
      if (round >= kWarmup) seconds.push_back(static_cast<double>(milliseconds) * 1e-3);
    }
    return median(seconds);
  }

 private:
  int device_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

/// Memory of one GPU, for as long as this lives.
class Memory {
 public:
  Memory(int device, std::size_t bytes) {
    check(cudaSetDevice(device), fmt::format("GPU {}", device));
    check(cudaMalloc(&pointer_, bytes), fmt::format("{} bytes of GPU {}", bytes, device));
    check(cudaMemset(pointer_, 0, bytes), fmt::format("memory of GPU {}", device));
    check(cudaDeviceSynchronize(), fmt::format("GPU {}", device));
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { cudaFree(pointer_); }
  void* get() const { return pointer_; }

 private:
  void* pointer_ = nullptr;
};

cudaDeviceProp properties_of(int device) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), fmt::format("GPU {}", device));
  return properties;
}

std::size_t bytes_for(int devices) {
  std::size_t bytes = kMostBytes;
  for (int device = 0; device < devices; ++device) {
    std::size_t unused = 0, total = 0;
    check(cudaSetDevice(device), fmt::format("GPU {}", device));
    check(cudaMemGetInfo(&unused, &total), fmt::format("the memory of GPU {}", device));
    bytes = std::min(bytes, unused / 8);
  }
  return bytes >> 20 << 20;
}

/// Each byte is read once and written once.
Json within(int device, std::size_t bytes) {
  const Memory from(device, bytes), to(device, bytes);
  Stream stream(device);
  const double seconds = stream.time(
      [&](cudaStream_t on) { return cudaMemcpyAsync(to.get(), from.get(), bytes, cudaMemcpyDeviceToDevice, on); });
  const cudaDeviceProp properties = properties_of(device);
  return {{"gpu", device},
          {"name", properties.name},
          {"multiprocessors", properties.multiProcessorCount},
          {"copied", static_cast<double>(bytes) / seconds / kGB},
          {"read_and_written", 2 * static_cast<double>(bytes) / seconds / kGB}};
}

/// One way: written by the copying GPU into the other's memory.
Json between(int from, int to, std::size_t bytes) {
  int reached = 0;
  check(cudaDeviceCanAccessPeer(&reached, from, to), "peer access");
  Json link = {{"from_gpu", from}, {"to_gpu", to}, {"peer_access", reached != 0}, {"copied", nullptr}};
  if (reached == 0) return link;
  const Memory source(from, bytes), target(to, bytes);
  check(cudaSetDevice(from), fmt::format("GPU {}", from));
  const cudaError_t enabled = cudaDeviceEnablePeerAccess(to, 0);
  if (enabled == cudaErrorPeerAccessAlreadyEnabled)
    static_cast<void>(cudaGetLastError());
  else
    check(enabled, fmt::format("peer access from GPU {} to GPU {}", from, to));
  Stream stream(from);
  const double seconds = stream.time(
      [&](cudaStream_t on) { return cudaMemcpyPeerAsync(target.get(), to, source.get(), from, bytes, on); });
  link["copied"] = static_cast<double>(bytes) / seconds / kGB;
  return link;
}

int run() {
  int devices = 0;
  check(cudaGetDeviceCount(&devices), "the number of GPUs");
  if (devices == 0) throw std::runtime_error("no GPU is visible");
  if (is_emulated(properties_of(0).name))
    throw std::runtime_error("the GPUs are emulated on the CPU, so times mean nothing and nothing is measured");
  const std::size_t bytes = bytes_for(devices);
  if (bytes == 0) throw std::runtime_error("a GPU has no 8 MiB of free memory");
  Json document = {{"unit", "10^9 bytes/s, median of copies"},
                   {"bytes", bytes},
                   {"copies", kRounds},
                   {"memory", Json::array()},
                   {"links", Json::array()}};
  for (int device = 0; device < devices; ++device) document["memory"].push_back(within(device, bytes));
  // Around the GPUs: every one sends and receives once. Behind a switch all pairs are alike.
  for (int device = 0; devices > 1 && device < devices; ++device)
    document["links"].push_back(between(device, (device + 1) % devices, bytes));
  fmt::print("{}\n", document.dump(1));
  return 0;
}

}  // namespace
}  // namespace tutti::bench

int main(int count, char** arguments) {
  if (count > 1) {
    fmt::print(stderr, "tutti-gpu-limit: '{}': it takes no arguments; it prints JSON of what copies reach\n",
               arguments[1]);
    return 2;
  }
  try {
    return tutti::bench::run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "tutti-gpu-limit: {}\n", error.what());
    return 1;
  }
}
