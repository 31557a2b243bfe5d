// The instances of p2p.hpp: sends and receives, which run in groups.
#include <algorithm>

#include "kernels/block_cuda.cuh"
#include "kernels/instance_cuda.hpp"
#include "kernels/start_cuda.cuh"

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

template <int kCapacity>
int launch_queues(std::span<const Message> given, std::span<const int> ends, const Team& team, const Reports& reports,
                  void* stream) {
  Queues<kCapacity> queues{};
  std::copy(given.begin(), given.end(), queues.messages);
  std::copy(ends.begin(), ends.end(), queues.ends);
  int blocks = 1;
  for (const Message& message : given) blocks = std::max(blocks, message.blocks);
  const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(ends.size()));
  return start(messages<kCapacity>, grid, kCudaThreads, stream, team, queues, reports);
}

constexpr int kFewMessages = 8;  // parameters of half a kilobyte

}  // namespace

const void* message_kernel(int index) {
  const void* const kernels[kMessageKernels] = {reinterpret_cast<const void*>(messages<kFewMessages>),
                                                reinterpret_cast<const void*>(messages<kMaxMessages>)};
  return kernels[index];
}

int launch_messages(std::span<const Message> messages, std::span<const int> ends, const Team& team,
                    const Reports& reports, void* stream) {
  if (messages.size() > kMaxMessages || ends.empty()) return cudaErrorInvalidValue;
  return messages.size() <= kFewMessages ? launch_queues<kFewMessages>(messages, ends, team, reports, stream)
                                         : launch_queues<kMaxMessages>(messages, ends, team, reports, stream);
}

}  // namespace tutti
