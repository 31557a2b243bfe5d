// Loads and launches the kernels, and holds the one that runs groups of messages.
#include <algorithm>

#include "kernels/collective_cuda.cuh"

namespace tutti {
namespace {

/// A group's messages; row q of the grid runs queue q.
template <int kCapacity>
struct Queues {
  int ends[kCapacity];
  Message messages[kCapacity];
};

template <int kCapacity>
__global__ void TUTTI_LAUNCH_BOUNDS messages(const __grid_constant__ Team team,
                                             const __grid_constant__ Queues<kCapacity> queues,
                                             const __grid_constant__ Reports reports) {
  const int index = static_cast<int>(blockIdx.x), queue = static_cast<int>(blockIdx.y);
  for (int i = queue == 0 ? 0 : queues.ends[queue - 1]; i < queues.ends[queue]; ++i) {
    const Message& message = queues.messages[i];
    if (index >= message.blocks) continue;
    CudaBlock block(team, message.call, reports, index, message.blocks);
    if (message.sends)
      send(block, message.call);
    else
      recv(block, message.call);
    if (block.failed()) return;
    block.sync();  // the bases that this message moved are the next one's
  }
}

__global__ void probe(int step, const __grid_constant__ Team team, std::uint64_t* seen) {
  const Connections arenas(team, 0, 1);
  const int me = arenas.rank(), peer = static_cast<int>(threadIdx.x);
  if (peer >= arenas.size() || peer == me) return;
  char* const here = arenas.packets(me, 0, peer);
  char* const there = arenas.packets(peer, 0, me);
  if (step == 0) ptx::store_packet(there, probe_word(me, peer));
  if (step == 1) {
    ptx::store_8(&seen[peer], ptx::load_packet(here));
    ptx::store_8(&seen[arenas.size() + peer], ptx::load_packet(there));
  }
  if (step == 2) ptx::store_packet(here, 0);
}

template <int kCapacity>
int launch_queues(std::span<const Message> given, std::span<const int> ends, const Team& team, const Reports& reports,
                  void* stream) {
  Queues<kCapacity> queues{};
  std::copy(given.begin(), given.end(), queues.messages);
  std::copy(ends.begin(), ends.end(), queues.ends);
  int blocks = 1;
  for (const Message& message : given) blocks = std::max(blocks, message.blocks);
  const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(ends.size()));
  messages<kCapacity><<<grid, kCudaThreads, 0, static_cast<cudaStream_t>(stream)>>>(team, queues, reports);
  return cudaGetLastError();
}

constexpr int kFewMessages = 8;  // parameters of half a kilobyte

Collective collective_of(Kernel kernel) {
  for (const auto find : {ring_collective, shot_collective, direct_collective, moving_collective})
    if (const Collective found = find(kernel)) return found;
  return nullptr;
}

/// Adds the blocks of `kernel` that a multiprocessor holds at once to the minimum.
template <class F>
cudaError_t load(F* kernel, int* per_multiprocessor) {
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
    if (const Collective kernel = collective_of(static_cast<Kernel>(k))) error = load(kernel, &each);
  if (error == cudaSuccess) error = load(messages<kFewMessages>, &each);
  if (error == cudaSuccess) error = load(messages<kMaxMessages>, &each);
  if (error == cudaSuccess) {
    int ignored = each;  // runs before any other
    error = load(probe, &ignored);
  }
  *blocks = each * multiprocessors;
  return error;
}

int launch(Kernel kernel, int blocks, const Team& team, const Call& call, const Reports& reports, void* stream) {
  const Collective function = collective_of(kernel);
  if (!function) return cudaErrorInvalidDeviceFunction;
  function<<<static_cast<unsigned>(blocks), kCudaThreads, 0, static_cast<cudaStream_t>(stream)>>>(team, call, reports);
  return cudaGetLastError();
}

int launch_probe(int step, const Team& team, std::uint64_t* seen, void* stream) {
  probe<<<1, kMaxRanks, 0, static_cast<cudaStream_t>(stream)>>>(step, team, seen);
  return cudaGetLastError();
}

int launch_messages(std::span<const Message> messages, std::span<const int> ends, const Team& team,
                    const Reports& reports, void* stream) {
  if (messages.size() > kMaxMessages || ends.empty()) return cudaErrorInvalidValue;
  return messages.size() <= kFewMessages ? launch_queues<kFewMessages>(messages, ends, team, reports, stream)
                                         : launch_queues<kMaxMessages>(messages, ends, team, reports, stream);
}

}  // namespace tutti
