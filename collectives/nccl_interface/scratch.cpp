#include "collectives/nccl_interface/scratch.hpp"

#include <algorithm>

#include "collectives/graph_keeping_cuda.hpp"
#include "collectives/nccl_interface/results.hpp"
#include "collectives/streams_cuda.hpp"

namespace tutti::nccl_interface {

using detail::capture_of;

void* Scratch::reserve(std::size_t bytes, cudaStream_t stream) {
  void* memory = nullptr;
  if (capture_of(stream) != 0) {
    check(cudaMalloc(&memory, bytes), "cudaMalloc");
    keep_with_graph(stream, {memory, [](void* at) { cudaFree(at); }});
    return memory;
  }
  if (bytes > bytes_) {
    const std::size_t size = std::max(bytes, 2 * bytes_);  // so that all blocks together are not twice the last
    check(cudaMalloc(&memory, size), "cudaMalloc");
    blocks_.push_back(memory);
    bytes_ = size;
  }
  return blocks_.back();
}

void Scratch::begin(cudaStream_t stream) {
  if (used_ && capture_of(stream) == 0) check(cudaStreamWaitEvent(stream, used_, 0), "cudaStreamWaitEvent");
}

void Scratch::end(cudaStream_t stream) {
  if (capture_of(stream) != 0) return;
  if (!used_) check(cudaEventCreateWithFlags(&used_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  check(cudaEventRecord(used_, stream), "cudaEventRecord");
}

void Scratch::release() {
  for (void* const block : blocks_) cudaFree(block);
  blocks_.clear();
  if (used_) cudaEventDestroy(used_);
}

}  // namespace tutti::nccl_interface
