// Starts kernels on a GPU. Callable from C++ without CUDA's headers; a stream is a cudaStream_t, results are
// cudaError_t.
#pragma once
#include <span>

#include "kernels/failure_cuda.hpp"
#include "kernels/kernels.hpp"

namespace tutti {

/// 384: what a thread has in flight (see copy_cuda.cuh) then keeps a link busy from 32 blocks, and each thread may have
/// 168 registers. With 512 threads and 128 registers, two-shot spilled.
inline constexpr int kCudaThreads = 384;
static_assert(kCudaThreads >= kMaxRanks, "lane p of a block speaks for peer p");

/// A send or receive of a group, done by blocks 0 .. blocks-1 of the message's queue.
struct Message {
  Call call;
  int blocks = 1;
  bool sends = false;
};
inline constexpr int kMaxMessages = 256;  ///< of one group: they travel in the launch's parameters

/// Loads every kernel, and tells in `blocks` how many blocks of kCudaThreads of the most demanding one the current
/// device holds at once. Nothing is loaded later, when a peer may be waiting inside a kernel.
int load_kernels(int* blocks);

/// Starts one collective kernel on `stream`. All blocks of a launch must be resident together: blocks <= load_kernels'.
int launch(Kernel kernel, int blocks, const Team& team, const Call& call, const Reports& reports, void* stream);

/// Starts sends and receives that make progress together. Messages of one peer and direction are adjacent, in the order
/// issued, and form a queue: `ends[q]` is one past its last message. All queues' blocks must be resident together.
int launch_messages(std::span<const Message> messages, std::span<const int> ends, const Team& team,
                    const Reports& reports, void* stream);

/// What rank `writer` writes for rank `reader` when they prove their memory.
TUTTI_HD constexpr std::uint64_t probe_word(int writer, int reader) {
  return std::uint64_t{0x7475747469} << 24 | static_cast<std::uint64_t>(writer) << 8 |
         static_cast<std::uint64_t>(reader);
}
/// Proves the peers' arenas, all of whose ranks take each step together. 0: writes a word into each peer's arena.
/// 1: reads, into seen[2][ranks], what each peer wrote here, and what this rank wrote there. 2: clears what peers
/// wrote.
int launch_probe(int step, const Team& team, std::uint64_t* seen, void* stream);

}  // namespace tutti
