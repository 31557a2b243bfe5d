// Loads the kernels and starts those of collectives.
#include <algorithm>

#include "kernels/instance_cuda.hpp"
#include "kernels/start_cuda.cuh"

namespace tutti {
namespace {

/// Every kernel has a line here; one that nobody instantiates does not link. Null for what launch_messages starts.
Collective instance_of(Kernel kernel) {
  switch (kernel) {
    case Kernel::ring_all_reduce: return instance<Kernel::ring_all_reduce>();
    case Kernel::ring_reduce_scatter: return instance<Kernel::ring_reduce_scatter>();
    case Kernel::ring_all_gather: return instance<Kernel::ring_all_gather>();
    case Kernel::ring_broadcast: return instance<Kernel::ring_broadcast>();
    case Kernel::ring_reduce: return instance<Kernel::ring_reduce>();
    case Kernel::two_shot_all_reduce: return instance<Kernel::two_shot_all_reduce>();
    case Kernel::one_shot_all_reduce: return instance<Kernel::one_shot_all_reduce>();
    case Kernel::direct_reduce_scatter: return instance<Kernel::direct_reduce_scatter>();
    case Kernel::direct_all_gather: return instance<Kernel::direct_all_gather>();
    case Kernel::direct_broadcast: return instance<Kernel::direct_broadcast>();
    case Kernel::direct_reduce: return instance<Kernel::direct_reduce>();
    case Kernel::direct_gather: return instance<Kernel::direct_gather>();
    case Kernel::direct_scatter: return instance<Kernel::direct_scatter>();
    case Kernel::direct_all_to_all: return instance<Kernel::direct_all_to_all>();
    case Kernel::packets_all_reduce: return instance<Kernel::packets_all_reduce>();
    case Kernel::packets_reduce_scatter: return instance<Kernel::packets_reduce_scatter>();
    case Kernel::packets_all_gather: return instance<Kernel::packets_all_gather>();
    case Kernel::packets_broadcast: return instance<Kernel::packets_broadcast>();
    case Kernel::packets_reduce: return instance<Kernel::packets_reduce>();
    case Kernel::packets_gather: return instance<Kernel::packets_gather>();
    case Kernel::packets_scatter: return instance<Kernel::packets_scatter>();
    case Kernel::packets_all_to_all: return instance<Kernel::packets_all_to_all>();
    case Kernel::tree_all_reduce: return instance<Kernel::tree_all_reduce>();
    case Kernel::tree_broadcast: return instance<Kernel::tree_broadcast>();
    case Kernel::tree_reduce: return instance<Kernel::tree_reduce>();
    case Kernel::tree_gather: return instance<Kernel::tree_gather>();
    case Kernel::tree_scatter: return instance<Kernel::tree_scatter>();
    case Kernel::recursive_doubling_all_reduce: return instance<Kernel::recursive_doubling_all_reduce>();
    case Kernel::halving_doubling_all_reduce: return instance<Kernel::halving_doubling_all_reduce>();
    case Kernel::bruck_all_gather: return instance<Kernel::bruck_all_gather>();
    case Kernel::pairwise_all_to_all: return instance<Kernel::pairwise_all_to_all>();
    case Kernel::send:
    case Kernel::recv: return nullptr;
    case Kernel::barrier: return instance<Kernel::barrier>();
    case Kernel::dissemination_barrier: return instance<Kernel::dissemination_barrier>();
    case Kernel::multicast_all_reduce: return instance<Kernel::multicast_all_reduce>();
    case Kernel::multicast_reduce_scatter: return instance<Kernel::multicast_reduce_scatter>();
    case Kernel::multicast_all_gather: return instance<Kernel::multicast_all_gather>();
  }
  return nullptr;
}

/// Loads a kernel, and lowers `per_multiprocessor` to the blocks of it that a multiprocessor holds at once.
cudaError_t load(const void* kernel, int* per_multiprocessor) {
  cudaFuncAttributes attributes;
  cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);
  int blocks = 0;
  if (error == cudaSuccess) error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, kCudaThreads, 0);
  *per_multiprocessor = std::min(*per_multiprocessor, blocks);
  return error;
}

}  // namespace

int load_kernels(int* blocks) {
  int device = 0, multiprocessors = 0, each = 1 << 20;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  for (int k = 0; k < kKernels && error == cudaSuccess; ++k)
    if (const Collective kernel = instance_of(static_cast<Kernel>(k)))
      error = load(reinterpret_cast<const void*>(kernel), &each);
  for (int k = 0; k < kMessageKernels && error == cudaSuccess; ++k) error = load(message_kernel(k), &each);
  if (error == cudaSuccess) {
    int ignored = each;  // runs before any other
    error = load(probe_kernel(), &ignored);
  }
  *blocks = each * multiprocessors;
  return error;
}

int launch(Kernel kernel, int blocks, const Team& team, const Call& call, const Reports& reports, void* stream) {
  const Collective function = instance_of(kernel);
  if (!function) return cudaErrorInvalidDeviceFunction;
  return start(function, dim3(static_cast<unsigned>(blocks)), kCudaThreads, stream, team, call, reports);
}

}  // namespace tutti
