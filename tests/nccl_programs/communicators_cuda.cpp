// How communicators are made, asked, split and ended.
#include <chrono>
#include <thread>

#include "tests/nccl_programs/world_cuda.hpp"

namespace nccl_programs {
namespace {

constexpr int kRanks = 3;

std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

class Communicators : public testing::Test {
 protected:
  void SetUp() override {
    if (gpus() < kRanks) GTEST_SKIP() << "needs " << kRanks << " GPUs, there are " << gpus();
  }
};

/// Adds up 1 of every rank; returns what each finds.
std::vector<int> sum_of_ones(std::span<const ncclComm_t> comms, std::span<const int> devices) {
  std::vector<Memory> memory;
  std::vector<cudaStream_t> streams(comms.size());
  for (std::size_t i = 0; i < comms.size(); ++i) {
    memory.emplace_back(devices[i], encode(ncclInt32, std::vector<double>{1}));
    check(cudaStreamCreate(&streams[i]), "cudaStreamCreate");
  }
  check(ncclGroupStart(), "ncclGroupStart");
  for (std::size_t i = 0; i < comms.size(); ++i)
    check(ncclAllReduce(memory[i].at(), memory[i].at(), 1, ncclInt32, ncclSum, comms[i], streams[i]), "ncclAllReduce");
  check(ncclGroupEnd(), "ncclGroupEnd");
  std::vector<int> sums;
  for (std::size_t i = 0; i < comms.size(); ++i) {
    check(cudaSetDevice(devices[i]), "cudaSetDevice");
    check(cudaStreamSynchronize(streams[i]), "cudaStreamSynchronize");
    check(cudaStreamDestroy(streams[i]), "cudaStreamDestroy");
    sums.push_back(static_cast<int>(decode(ncclInt32, memory[i].content())[0]));
  }
  return sums;
}

void destroy(std::span<const ncclComm_t> comms) {
  for (const ncclComm_t comm : comms) check(ncclCommDestroy(comm), "ncclCommDestroy");
}

TEST_F(Communicators, MadeByOneThreadInAGroupTakeTheCurrentDevice) {
  const std::vector<int> devices{2, 0, 1};
  std::vector<ncclComm_t> comms(kRanks);
  ncclUniqueId id;
  check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  check(ncclGroupStart(), "ncclGroupStart");
  for (int r = 0; r < kRanks; ++r) {
    check(cudaSetDevice(devices[at(r)]), "cudaSetDevice");
    check(ncclCommInitRank(&comms[at(r)], kRanks, id, r), "ncclCommInitRank");
  }
  check(ncclGroupEnd(), "ncclGroupEnd");
  for (int r = 0; r < kRanks; ++r) {
    int rank = -1, size = -1, device = -1;
    check(ncclCommUserRank(comms[at(r)], &rank), "ncclCommUserRank");
    check(ncclCommCount(comms[at(r)], &size), "ncclCommCount");
    check(ncclCommCuDevice(comms[at(r)], &device), "ncclCommCuDevice");
    EXPECT_EQ(rank, r);
    EXPECT_EQ(size, kRanks);
    EXPECT_EQ(device, devices[at(r)]) << "of rank " << r;
  }
  int current = -1;
  check(cudaGetDevice(&current), "cudaGetDevice");
  EXPECT_EQ(current, devices[2]) << "a group must leave the current device as it was";
  EXPECT_EQ(sum_of_ones(comms, devices), std::vector(3, 3));
  destroy(comms);
}

TEST_F(Communicators, MadeByAThreadEachNeedNoGroup) {
  std::vector<ncclComm_t> comms(kRanks);
  std::vector<ncclResult_t> results(kRanks);
  std::vector<ncclUniqueId> ids(2);
  for (ncclUniqueId& id : ids) check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  std::vector<std::thread> threads;
  for (int r = 0; r < kRanks; ++r)
    threads.emplace_back([&, r] {
      check(cudaSetDevice(r), "cudaSetDevice");
      results[at(r)] = ncclCommInitRankScalable(&comms[at(r)], kRanks, r, 2, ids.data(), nullptr);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(results, std::vector(3, ncclSuccess)) << ncclGetLastError(nullptr);
  EXPECT_EQ(sum_of_ones(comms, std::vector{0, 1, 2}), std::vector(3, 3));
  destroy(comms);
}

TEST_F(Communicators, ThatDoNotBlockAreInProgressUntilAllHaveCome) {
  std::vector<ncclComm_t> comms(kRanks);
  ncclUniqueId id;
  check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const auto state = [&](int r) {
    ncclResult_t now = ncclInternalError;
    check(ncclCommGetAsyncError(comms[at(r)], &now), "ncclCommGetAsyncError");
    return now;
  };
  for (int r = 0; r < kRanks; ++r) {
    check(cudaSetDevice(r), "cudaSetDevice");
    ASSERT_EQ(ncclCommInitRankConfig(&comms[at(r)], kRanks, id, r, &config), ncclInProgress);
    ASSERT_NE(comms[at(r)], nullptr);
    if (r + 1 < kRanks) {
      EXPECT_EQ(state(r), ncclInProgress) << "rank " << r << " of those that have not all come";
    }
  }
  for (int r = 0; r < kRanks; ++r) {
    while (state(r) == ncclInProgress) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(state(r), ncclSuccess) << ncclGetLastError(comms[at(r)]);
  }
  EXPECT_EQ(sum_of_ones(comms, std::vector{0, 1, 2}), std::vector(3, 3));
  for (int r = 0; r < kRanks; ++r) EXPECT_EQ(ncclCommFinalize(comms[at(r)]), ncclInProgress);
  for (int r = 0; r < kRanks; ++r)
    while (state(r) == ncclInProgress) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  destroy(comms);
}

TEST_F(Communicators, OfAMissingRankCanBeAborted) {
  ncclComm_t comm = nullptr;
  ncclUniqueId id;
  check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ASSERT_EQ(ncclCommInitRankConfig(&comm, 2, id, 1, &config), ncclInProgress);
  int memory = 0;
  EXPECT_EQ(ncclAllReduce(&memory, &memory, 1, ncclInt32, ncclSum, comm, nullptr), ncclInvalidArgument)
      << "before it is ready";
  EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
  EXPECT_EQ(ncclCommAbort(comm), ncclInvalidArgument) << "it is gone";
}

TEST_F(Communicators, SplitByColorInTheOrderOfKeys) {
  const World world(kRanks);
  std::vector<ncclComm_t> split(kRanks);
  check(ncclGroupStart(), "ncclGroupStart");
  for (int r = 0; r < kRanks; ++r)
    check(ncclCommSplit(world.comm(r), r == 1 ? NCCL_SPLIT_NOCOLOR : 4, -r, &split[at(r)], nullptr), "ncclCommSplit");
  check(ncclGroupEnd(), "ncclGroupEnd");
  EXPECT_EQ(split[1], nullptr) << "a rank of no color";
  ASSERT_NE(split[0], nullptr);
  ASSERT_NE(split[2], nullptr);
  for (const int r : {0, 2}) {
    int rank = -1, size = -1;
    check(ncclCommUserRank(split[at(r)], &rank), "ncclCommUserRank");
    check(ncclCommCount(split[at(r)], &size), "ncclCommCount");
    EXPECT_EQ(rank, r == 2 ? 0 : 1) << "of rank " << r;
    EXPECT_EQ(size, 2);
  }
  const std::vector two{split[0], split[2]};
  EXPECT_EQ(sum_of_ones(two, std::vector{0, 2}), std::vector(2, 2));
  // The parent goes on, and either may end first.
  EXPECT_EQ(sum_of_ones(std::vector{world.comm(0), world.comm(1), world.comm(2)}, std::vector{0, 1, 2}),
            std::vector(3, 3));
  destroy(two);
}

TEST_F(Communicators, SplitSeveralTimesInOneGroup) {
  const World world(kRanks);
  std::vector<ncclComm_t> halves(kRanks), backwards(kRanks);
  check(ncclGroupStart(), "ncclGroupStart");
  for (int r = 0; r < kRanks; ++r) {
    check(ncclCommSplit(world.comm(r), r / 2, r, &halves[at(r)], nullptr), "ncclCommSplit");
    check(ncclCommSplit(world.comm(r), 0, -r, &backwards[at(r)], nullptr), "ncclCommSplit");
  }
  check(ncclGroupEnd(), "ncclGroupEnd");
  for (int r = 0; r < kRanks; ++r) {
    int size = -1, rank = -1;
    check(ncclCommCount(halves[at(r)], &size), "ncclCommCount");
    check(ncclCommUserRank(backwards[at(r)], &rank), "ncclCommUserRank");
    EXPECT_EQ(size, r == 2 ? 1 : 2) << "rank " << r;
    EXPECT_EQ(rank, kRanks - 1 - r);
  }
  EXPECT_EQ(sum_of_ones(backwards, std::vector{0, 1, 2}), std::vector(3, 3));
  EXPECT_EQ(sum_of_ones(halves, std::vector{0, 1, 2}), (std::vector{2, 2, 1}));
  destroy(halves);
  destroy(backwards);
}

TEST_F(Communicators, ThatDoNotBlockSplitInTheBackground) {
  std::vector<ncclComm_t> comms(kRanks), split(kRanks);
  ncclUniqueId id;
  check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const auto wait = [](ncclComm_t comm) {
    ncclResult_t state = ncclInProgress;
    while (state == ncclInProgress) {
      check(ncclCommGetAsyncError(comm, &state), "ncclCommGetAsyncError");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    check(state, "in the background");
  };
  for (int r = 0; r < kRanks; ++r) {
    check(cudaSetDevice(r), "cudaSetDevice");
    ASSERT_EQ(ncclCommInitRankConfig(&comms[at(r)], kRanks, id, r, &config), ncclInProgress);
  }
  for (const ncclComm_t comm : comms) wait(comm);
  // One after the other by one thread: nothing here may wait for the other ranks.
  for (int r = 0; r < kRanks; ++r)
    EXPECT_EQ(ncclCommSplit(comms[at(r)], r == 0 ? NCCL_SPLIT_NOCOLOR : 1, r, &split[at(r)], nullptr), ncclInProgress);
  for (const ncclComm_t comm : comms) wait(comm);
  EXPECT_EQ(split[0], nullptr);
  const std::vector two{split[1], split[2]};
  for (const ncclComm_t comm : two) wait(comm);
  EXPECT_EQ(sum_of_ones(two, std::vector{1, 2}), std::vector(2, 2));
  destroy(two);
  destroy(comms);
}

TEST_F(Communicators, AreFinalizedOnce) {
  const World world(kRanks);
  std::vector<ncclComm_t> comms;
  for (int r = 0; r < kRanks; ++r) comms.push_back(world.comm(r));
  EXPECT_EQ(sum_of_ones(comms, std::vector{0, 1, 2}), std::vector(3, 3));
  for (const ncclComm_t comm : comms) check(ncclCommFinalize(comm), "ncclCommFinalize");
  const Memory memory(0, 4);
  EXPECT_EQ(ncclAllReduce(memory.at(), memory.at(), 1, ncclInt32, ncclSum, comms[0], nullptr), ncclInvalidUsage);
  EXPECT_EQ(ncclCommFinalize(comms[0]), ncclInvalidUsage);
}

TEST_F(Communicators, RegisterMemoryAndKnowItsHandles) {
  const World world(1);
  void* memory = nullptr;
  check(ncclMemAlloc(&memory, 4096), "ncclMemAlloc");
  ASSERT_NE(memory, nullptr);
  void* handle = nullptr;
  check(ncclCommRegister(world.comm(0), memory, 4096, &handle), "ncclCommRegister");
  EXPECT_NE(handle, nullptr);
  EXPECT_EQ(ncclCommDeregister(world.comm(0), handle), ncclSuccess);
  EXPECT_EQ(ncclCommDeregister(world.comm(0), handle), ncclInvalidArgument) << "a second time";
  ncclWindow_t window = nullptr;
  check(ncclCommWindowRegister(world.comm(0), memory, 4096, &window, NCCL_WIN_COLL_SYMMETRIC),
        "ncclCommWindowRegister");
  EXPECT_EQ(ncclCommWindowDeregister(world.comm(0), window), ncclSuccess);
  EXPECT_EQ(ncclMemFree(memory), ncclSuccess);
}

}  // namespace
}  // namespace nccl_programs
