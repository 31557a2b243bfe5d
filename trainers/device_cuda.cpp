#include "trainers/device_cuda.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tutti::trainers {
namespace {

constexpr std::size_t kLandingBytes = 4096;

}  // namespace

void check_cuda(cudaError_t result, const char* call) {
  if (result == cudaSuccess) return;
  cudaGetLastError();  // an error that is thrown shall not come back from a later call
  throw Error(ErrorCode::system,
              fmt::format("trainer: {}: {} ({})", call, cudaGetErrorString(result), cudaGetErrorName(result)));
}
void check_cuda(int result, const char* call) { check_cuda(static_cast<cudaError_t>(result), call); }

GpuDevice::GpuDevice() {
  int count = 0;  // stays so without a driver
  const cudaError_t result = cudaGetDeviceCount(&count);
  cudaGetLastError();
  if (result != cudaSuccess || count == 0)
    throw Error(ErrorCode::unsupported,
                fmt::format("training on a GPU: there is none ({}); train on the CPU with TUTTI_DEVICE=cpu",
                            result == cudaSuccess ? "no device is visible" : cudaGetErrorString(result)));
  check_cuda(cudaGetDevice(&device_), "cudaGetDevice");
  try {
    create();
  } catch (...) {
    destroy();
    throw;
  }
}

void GpuDevice::create() {
  cudaDeviceProp properties;
  check_cuda(cudaGetDeviceProperties(&properties, device_), "cudaGetDeviceProperties");
  name_ = fmt::format("the GPU ({})", properties.name);
  // They need no order with the default stream, which other code of the process may use.
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  for (cudaStream_t& side : sides_)
    check_cuda(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  check_cuda(cudaEventCreateWithFlags(&forked_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  check_cuda(cudaHostAlloc(&landing_, kLandingBytes, cudaHostAllocDefault), "cudaHostAlloc");
}

void GpuDevice::destroy() {
  if (stream_) cudaStreamSynchronize(stream_);
  for (const Block& block : spare_) cudaFree(block.memory);
  if (landing_) cudaFreeHost(landing_);
  if (forked_) cudaEventDestroy(forked_);
  for (const cudaStream_t side : sides_)
    if (side) cudaStreamDestroy(side);
  if (stream_) cudaStreamDestroy(stream_);
}

GpuDevice::~GpuDevice() { destroy(); }

std::shared_ptr<void> GpuDevice::allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const auto fits = [bytes](const Block& block) { return block.bytes >= bytes && block.bytes <= 2 * bytes; };
  if (const auto at = std::find_if(spare_.begin(), spare_.end(), fits); at != spare_.end()) {
    const Block block = *at;
    spare_.erase(at);
    return own(block);
  }
  void* memory = nullptr;
  const cudaError_t result = cudaMalloc(&memory, bytes);
  if (result == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    std::size_t free = 0, total = 0;
    cudaMemGetInfo(&free, &total);
    throw Error(ErrorCode::system,
                fmt::format("trainer: {} has no {} bytes of memory left ({} of {} are free); use a smaller batch or "
                            "smaller layers",
                            name_, bytes, free, total));
  }
  check_cuda(result, "cudaMalloc");
  return own({memory, bytes});
}

/// Released, a block is kept: what is enqueued may still use it, and to free it could wait for kernels of other ranks
/// on the same GPU, which could wait for this one.
std::shared_ptr<void> GpuDevice::own(const Block& block) {
  std::shared_ptr<void> owner(block.memory, [this, block](void*) { spare_.push_back(block); });
  zero(block.memory, block.bytes);
  return owner;
}

void GpuDevice::zero(void* to, std::size_t bytes) {
  if (bytes > 0) check_cuda(cudaMemsetAsync(to, 0, bytes, stream_), "cudaMemsetAsync");
}

void GpuDevice::upload(void* to, const void* from, std::size_t bytes) {
  // Of pageable memory: the call returns once it has been read.
  if (bytes > 0) check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_), "cudaMemcpyAsync");
}

void GpuDevice::download(void* to, const void* from, std::size_t bytes) {
  void* const there = bytes <= kLandingBytes ? landing_ : to;
  if (bytes > 0) check_cuda(cudaMemcpyAsync(there, from, bytes, cudaMemcpyDeviceToHost, stream_), "cudaMemcpyAsync");
  wait();
  if (there != to && bytes > 0) std::memcpy(to, there, bytes);
}

void GpuDevice::wait() { check_cuda(cudaStreamSynchronize(stream_), "the work of a step"); }

Options GpuDevice::fork(int side) {
  check_cuda(cudaEventRecord(forked_, stream_), "cudaEventRecord");
  check_cuda(cudaStreamWaitEvent(sides_[side], forked_, 0), "cudaStreamWaitEvent");
  return {.stream = sides_[side]};
}

void GpuDevice::set(Mark& mark, int side) {
  if (!mark) {
    cudaEvent_t event = nullptr;
    check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    mark = Mark(event, [](void* at) { cudaEventDestroy(static_cast<cudaEvent_t>(at)); });
  }
  check_cuda(cudaEventRecord(static_cast<cudaEvent_t>(mark.get()), sides_[side]), "cudaEventRecord");
}

void GpuDevice::join(const Mark& mark) {
  if (mark) check_cuda(cudaStreamWaitEvent(stream_, static_cast<cudaEvent_t>(mark.get()), 0), "cudaStreamWaitEvent");
}

}  // namespace tutti::trainers
