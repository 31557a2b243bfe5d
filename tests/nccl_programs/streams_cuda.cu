// Collectives between a program's own kernels in one stream, launched and as a graph: as benchmarks and trainers do.
#include <numeric>

#include "tests/nccl_programs/world_cuda.hpp"

namespace nccl_programs {
namespace {

constexpr int kRanks = 2;

/// What element i of rank r holds before round `round`.
__host__ __device__ float element(int rank, int round, std::size_t i) {
  return static_cast<float>((static_cast<std::size_t>(rank) + 3 * i + 5 * static_cast<std::size_t>(round)) % 8);
}

__global__ void fill(float* to, std::size_t count, int rank, int round) {
  for (std::size_t i = threadIdx.x; i < count; i += blockDim.x) to[i] = element(rank, round, i);
}

/// Adds to *wrong how many elements are not the sum over all ranks.
__global__ void verify(const float* from, std::size_t count, int ranks, int round, unsigned long long* wrong) {
  unsigned long long mine = 0;
  for (std::size_t i = threadIdx.x; i < count; i += blockDim.x) {
    float sum = 0;
    for (int rank = 0; rank < ranks; ++rank) sum += element(rank, round, i);
    mine += from[i] != sum;
  }
  if (mine != 0) atomicAdd(wrong, mine);
}

class Streams : public testing::Test {
 protected:
  void SetUp() override {
    if (gpus() < kRanks) GTEST_SKIP() << "needs " << kRanks << " GPUs, there are " << gpus();
  }
};

/// Fills, adds up and verifies on every rank, a round after the other, without a wait.
struct Rounds {
  explicit Rounds(std::size_t elements) : count(elements) {
    for (int r = 0; r < kRanks; ++r) {
      in.emplace_back(r, count * sizeof(float)), out.emplace_back(r, count * sizeof(float));
      // Host memory that kernels write to: the pointer is the same for both.
      void* memory = nullptr;
      check(cudaHostAlloc(&memory, sizeof(unsigned long long), cudaHostAllocMapped | cudaHostAllocPortable),
            "cudaHostAlloc");
      wrong[r] = static_cast<unsigned long long*>(memory);
      *wrong[r] = 0;
    }
  }
  ~Rounds() {
    for (unsigned long long* const memory : wrong) cudaFreeHost(memory);
  }
  void run(const World& world, int round) {
    const auto at = [](int rank) { return static_cast<std::size_t>(rank); };
    for (int r = 0; r < kRanks; ++r) {
      check(cudaSetDevice(r), "cudaSetDevice");
      fill<<<1, 96, 0, world.stream(r)>>>(static_cast<float*>(in[at(r)].at()), count, r, round);
    }
    world.start([&](int r) {
      return ncclAllReduce(in[at(r)].at(), out[at(r)].at(), count, ncclFloat32, ncclSum, world.comm(r),
                           world.stream(r));
    });
    for (int r = 0; r < kRanks; ++r) {
      check(cudaSetDevice(r), "cudaSetDevice");
      verify<<<1, 96, 0, world.stream(r)>>>(static_cast<const float*>(out[at(r)].at()), count, kRanks, round, wrong[r]);
      check(cudaGetLastError(), "a launch");
    }
  }
  std::size_t count;
  std::vector<Memory> in, out;
  unsigned long long* wrong[kRanks] = {};
};

TEST_F(Streams, OrderACallBetweenTheKernelsAroundIt) {
  const World world(kRanks);
  for (const std::size_t count : {std::size_t{100}, std::size_t{20000}}) {
    Rounds rounds(count);
    for (int round = 0; round < 3; ++round) rounds.run(world, round);
    world.wait();
    for (int r = 0; r < kRanks; ++r) EXPECT_EQ(*rounds.wrong[r], 0u) << "of " << count << ", rank " << r;
  }
}

TEST_F(Streams, ReplayACallThatWasCapturedIntoAGraph) {
  const World world(kRanks);
  Rounds rounds(500);
  cudaGraph_t graphs[kRanks];
  cudaGraphExec_t executables[kRanks];
  for (int r = 0; r < kRanks; ++r)
    check(cudaStreamBeginCapture(world.stream(r), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  rounds.run(world, 0);
  for (int r = 0; r < kRanks; ++r) {
    check(cudaStreamEndCapture(world.stream(r), &graphs[r]), "cudaStreamEndCapture");
    check(cudaGraphInstantiate(&executables[r], graphs[r], 0), "cudaGraphInstantiate");
    EXPECT_EQ(*rounds.wrong[r], 0u) << "before any replay";
  }
  for (int replay = 0; replay < 3; ++replay)
    for (int r = 0; r < kRanks; ++r) check(cudaGraphLaunch(executables[r], world.stream(r)), "cudaGraphLaunch");
  world.wait();
  for (int r = 0; r < kRanks; ++r) {
    EXPECT_EQ(*rounds.wrong[r], 0u) << "rank " << r;
    const std::vector<double> got = decode(ncclFloat32, rounds.out[static_cast<std::size_t>(r)].content());
    EXPECT_EQ(got[1], element(0, 0, 1) + element(1, 0, 1)) << "rank " << r << ": the graph ran";
    check(cudaGraphExecDestroy(executables[r]), "cudaGraphExecDestroy");
    check(cudaGraphDestroy(graphs[r]), "cudaGraphDestroy");
  }
}

}  // namespace
}  // namespace nccl_programs
