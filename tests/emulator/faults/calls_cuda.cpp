// A few calls of tutti on GPUs, as a program makes them; faults.py runs it with faults planted beneath. Exits with 0 if
// all results are right, 1 if one is wrong, 3 with tutti's own error in a line on stderr.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <vector>

#include "collectives/tutti.hpp"

namespace {

constexpr std::size_t kCount = 1000;

/// The first `count` numbers in device memory.
std::vector<float> read(tutti::Communicator& comm, const float* from, std::size_t count) {
  std::vector<float> values(count);
  comm.copy(values.data(), from, count * sizeof(float));
  return values;
}

/// False if a number is another than it must be.
bool run(tutti::Session& session) {
  tutti::Communicator comm = session.communicator();
  const int ranks = comm.size(), rank = comm.rank();
  auto mapped = comm.allocate<float>(2 * kCount);
  float* own = nullptr;  // memory that tutti does not know, so it is staged
  if (cudaMalloc(reinterpret_cast<void**>(&own), 2 * kCount * sizeof(float)) != cudaSuccess)
    throw tutti::Error(tutti::ErrorCode::system, "the program's own cudaMalloc failed");
  const std::vector<float> mine(kCount, static_cast<float>(rank + 1));
  const auto sum = static_cast<float>(ranks * (ranks + 1) / 2);
  bool right = true;
  for (float* const memory : {mapped.data(), own}) {
    comm.copy(memory, mine.data(), kCount * sizeof(float));
    comm.all_reduce(memory, memory + kCount, kCount, tutti::ReduceOp::sum);
    for (const float value : read(comm, memory + kCount, kCount)) right = right && value == sum;
    comm.broadcast(memory, kCount, ranks - 1);
    for (const float value : read(comm, memory, kCount)) right = right && value == static_cast<float>(ranks);
  }
  comm.barrier();
  cudaFree(own);
  return right;
}

}  // namespace

int main() {
  int rank = -1;
  try {
    tutti::Session session;
    rank = session.rank();
    if (!session.on_gpu()) throw tutti::Error(tutti::ErrorCode::system, "the session is not on GPUs");
    const bool right = run(session);
    std::fprintf(stderr, "rank %d: %s\n", rank, right ? "right" : "WRONG");
    return right ? 0 : 1;
  } catch (const tutti::Error& error) {
    std::fprintf(stderr, "tutti error: %s\n", error.what());
    return 3;
  }
}
