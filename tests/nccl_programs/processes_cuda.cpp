// Ranks that are processes, and what the others hear of one that ends.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "tests/nccl_programs/job.hpp"
#include "tests/nccl_programs/world_cuda.hpp"

namespace nccl_programs {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRanks = 3;
constexpr double kSeconds = 100;

/// One rank of a job, on GPU `device`.
class Rank {
 public:
  Rank(int rank, int ranks, const Pipes& pipes, int device) {
    check(cudaSetDevice(device), "cudaSetDevice");
    ncclUniqueId id{};
    if (rank == 0) check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    id = pipes.from_first(rank, ranks, id);
    check(ncclCommInitRank(&comm, ranks, id, rank), "ncclCommInitRank");
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    check(cudaMalloc(&memory, kBytes), "cudaMalloc");
    check(cudaMemset(memory, 0, kBytes), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  ncclResult_t all_reduce(std::size_t bytes = 64) {
    return ncclAllReduce(memory, memory, bytes, ncclUint8, ncclSum, comm, stream);
  }
  ncclResult_t async_error() {
    ncclResult_t error = ncclInternalError;
    check(ncclCommGetAsyncError(comm, &error), "ncclCommGetAsyncError");
    return error;
  }
  /// Polls until the communicator has failed; ncclSuccess if it does not.
  ncclResult_t wait_for_error(double seconds) {
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    ncclResult_t error = ncclSuccess;
    while ((error = async_error()) == ncclSuccess && Clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return error;
  }
  void synchronize() { check(cudaStreamSynchronize(stream), "cudaStreamSynchronize"); }

  /// More than travels in packets: those would be sent before the sender waits.
  static constexpr std::size_t kBytes = 64 << 10;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  void* memory = nullptr;
};

void expect(bool truth, const std::string& what) {
  if (!truth) throw std::runtime_error("expected that " + what + "; the last error: " + ncclGetLastError(nullptr));
}

/// Asked in a process of its own, as this one forks.
bool has_gpus(int needed) {
  int status = 0;
  const pid_t process = ::fork();
  if (process == 0) ::_exit(gpus() >= needed ? 0 : 1);
  ::waitpid(process, &status, 0);
  return status == 0;
}

class Processes : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_gpus(kRanks)) GTEST_SKIP() << "needs " << kRanks << " GPUs";
  }
};

void add_up_in_the_whole_and_in_parts(int rank, const Pipes& pipes, int device) {
  Rank mine(rank, kRanks, pipes, device);
  const std::vector<std::byte> one = encode(ncclFloat32, std::vector<double>{rank + 1.0});
  check(cudaMemcpy(mine.memory, one.data(), one.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
  const auto sum = [&](ncclComm_t comm) {
    check(ncclAllReduce(mine.memory, mine.memory, 1, ncclFloat32, ncclSum, comm, mine.stream), "ncclAllReduce");
    mine.synchronize();
    std::vector<std::byte> got(4);
    check(cudaMemcpy(got.data(), mine.memory, 4, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return decode(ncclFloat32, got)[0];
  };
  const double all = sum(mine.comm);
  expect(all == 6, "1 + 2 + 3 is 6, not " + std::to_string(all));
  ncclComm_t part = nullptr;
  check(ncclCommSplit(mine.comm, rank == 1, 0, &part, nullptr), "ncclCommSplit");
  check(ncclCommDestroy(mine.comm), "ncclCommDestroy");
  const double some = sum(part);
  expect(some == (rank == 1 ? 6 : 12), "the sum over the ranks of a color is right, not " + std::to_string(some));
  check(ncclCommFinalize(part), "ncclCommFinalize");
  check(ncclCommDestroy(part), "ncclCommDestroy");
}

TEST_F(Processes, AddUpInTheWholeAndInParts) {
  run_job(kRanks, kSeconds, [](int rank, const Pipes& pipes) { add_up_in_the_whole_and_in_parts(rank, pipes, rank); });
}

TEST_F(Processes, MayShareAGpu) {
  run_job(kRanks, kSeconds, [](int rank, const Pipes& pipes) { add_up_in_the_whole_and_in_parts(rank, pipes, 0); });
}

TEST_F(Processes, MayHoldSeveralRanksEach) {
  run_job(2, kSeconds, [](int process, const Pipes& pipes) {
    constexpr int kEach = 2;
    ncclUniqueId id{};
    if (process == 0) check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    id = pipes.from_first(process, 2, id);
    ncclComm_t comms[kEach];
    std::vector<Memory> memory;
    check(ncclGroupStart(), "ncclGroupStart");
    for (int i = 0; i < kEach; ++i) {
      check(cudaSetDevice(i), "cudaSetDevice");  // which the other process uses, too
      check(ncclCommInitRank(&comms[i], 2 * kEach, id, kEach * process + i), "ncclCommInitRank");
    }
    check(ncclGroupEnd(), "ncclGroupEnd");
    for (int i = 0; i < kEach; ++i)
      memory.emplace_back(i, encode(ncclFloat64, std::vector<double>(3, 1 + kEach * process + i)));
    check(ncclGroupStart(), "ncclGroupStart");
    for (int i = 0; i < kEach; ++i) {
      void* const at = memory[static_cast<std::size_t>(i)].at();
      check(ncclAllReduce(at, at, 3, ncclFloat64, ncclProd, comms[i], nullptr), "ncclAllReduce");
    }
    check(ncclGroupEnd(), "ncclGroupEnd");
    for (int i = 0; i < kEach; ++i) {
      check(cudaSetDevice(i), "cudaSetDevice");
      check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
      const double got = decode(ncclFloat64, memory[static_cast<std::size_t>(i)].content())[2];
      expect(got == 24, "1 x 2 x 3 x 4 is 24, not " + std::to_string(got));
      check(ncclCommDestroy(comms[i]), "ncclCommDestroy");
    }
  });
}

std::size_t free_memory() {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return free;
}

TEST_F(Processes, GetTheirMemoryBackFromCommunicatorsThatAreDestroyed) {
  run_job(2, kSeconds, [](int rank, const Pipes& pipes) {
    std::size_t first = 0;
    for (int round = 0; round < 5; ++round) {
      Rank mine(rank, 2, pipes, rank);
      check(mine.all_reduce(), "ncclAllReduce");
      mine.synchronize();
      check(cudaStreamDestroy(mine.stream), "cudaStreamDestroy");
      check(cudaFree(mine.memory), "cudaFree");
      check(ncclCommDestroy(mine.comm), "ncclCommDestroy");
      if (round == 0) {
        std::this_thread::sleep_for(std::chrono::seconds(1));  // peers that come a little later are waited for
        first = free_memory();
      }
    }
    const auto end = Clock::now() + std::chrono::seconds(10);
    constexpr std::size_t kOneArena = 1 << 20;  // at least
    while (free_memory() + kOneArena < first && Clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const std::size_t last = free_memory();
    expect(last + kOneArena >= first, std::to_string(first - last) + " bytes of 4 communicators are free again");
  });
}

TEST_F(Processes, HearOfAPeerThatDied) {
  run_job(kRanks, kSeconds, [](int rank, const Pipes& pipes) {
    Rank mine(rank, kRanks, pipes, rank);
    if (rank == 2) ::_exit(0);  // without a word
    check(mine.all_reduce(), "ncclAllReduce");
    const ncclResult_t error = mine.wait_for_error(60);
    expect(error == ncclRemoteError, std::string("the error is ncclRemoteError, not ") + ncclGetErrorString(error));
    expect(std::string(ncclGetLastError(mine.comm)) != "", "the communicator says why");
    mine.synchronize();
    expect(mine.all_reduce() == ncclRemoteError, "later calls say the same");
    check(ncclCommAbort(mine.comm), "ncclCommAbort");
  });
}

TEST_F(Processes, OfAPeerThatEndedWellAreNotBothered) {
  run_job(kRanks, kSeconds, [](int rank, const Pipes& pipes) {
    Rank mine(rank, kRanks, pipes, rank);
    check(mine.all_reduce(), "ncclAllReduce");
    mine.synchronize();
    if (rank != 0) return check(ncclCommDestroy(mine.comm), "ncclCommDestroy");
    expect(mine.wait_for_error(4) == ncclSuccess, "no call is in flight that needs the peers");
    check(ncclCommDestroy(mine.comm), "ncclCommDestroy");
  });
}

TEST_F(Processes, EndTheirKernelsByAnAbort) {
  run_job(2, kSeconds, [](int rank, const Pipes& pipes) {
    Rank mine(rank, 2, pipes, rank);
    std::byte word{};
    if (rank == 1) {
      pipes.hear(1, {&word, 1});
      check(mine.all_reduce(Rank::kBytes), "ncclAllReduce");  // of which the peer has given up its part
      expect(mine.wait_for_error(60) == ncclRemoteError, "the peer's abort is heard of");
      mine.synchronize();
      return check(ncclCommAbort(mine.comm), "ncclCommAbort");
    }
    check(mine.all_reduce(Rank::kBytes), "ncclAllReduce");
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    expect(cudaStreamQuery(mine.stream) == cudaErrorNotReady, "a kernel waits for the peer");
    check(ncclCommAbort(mine.comm), "ncclCommAbort");
    mine.synchronize();
    expect(ncclCommDestroy(mine.comm) == ncclInvalidArgument, "an aborted communicator is gone");
    pipes.tell(1, {&word, 1});
  });
}

}  // namespace
}  // namespace nccl_programs
