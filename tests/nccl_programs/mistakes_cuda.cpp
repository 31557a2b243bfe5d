// What programs get that ask for what is wrong, or cannot be had.
#include "tests/nccl_programs/world_cuda.hpp"

namespace nccl_programs {
namespace {

std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

class Mistakes : public testing::Test {
 protected:
  void SetUp() override {
    if (gpus() < 2) GTEST_SKIP() << "needs 2 GPUs, there are " << gpus();
  }
};

TEST_F(Mistakes, AreNamed) {
  const World world(2);
  const Memory memory(0, 64);
  void* const at = memory.at();
  const ncclComm_t comm = world.comm(0);
  const auto expect = [](ncclResult_t got, ncclResult_t expected, const char* word) {
    EXPECT_EQ(got, expected) << word;
    EXPECT_NE(std::string(ncclGetLastError(nullptr)).find(word), std::string::npos)
        << "expected '" << word << "' in: " << ncclGetLastError(nullptr);
  };
  expect(ncclAllReduce(at, at, 1, ncclInt32, ncclSum, nullptr, nullptr), ncclInvalidArgument, "comm");
  expect(ncclAllReduce(nullptr, at, 1, ncclInt32, ncclSum, comm, nullptr), ncclInvalidArgument, "null");
  expect(ncclAllReduce(at, at, 1, ncclNumTypes, ncclSum, comm, nullptr), ncclInvalidArgument, "datatype");
  expect(ncclAllReduce(at, at, 1, ncclInt32, ncclNumOps, comm, nullptr), ncclInvalidArgument, "operator");
  expect(ncclReduce(at, at, 1, ncclInt32, ncclSum, -1, comm, nullptr), ncclInvalidArgument, "root -1");
  expect(ncclBroadcast(at, at, 0, ncclInt32, 2, comm, nullptr), ncclInvalidArgument, "root 2");
  expect(ncclSend(at, 1, ncclInt32, 7, comm, nullptr), ncclInvalidArgument, "peer 7");
  expect(ncclAllReduce(memory.at(2), at, 1, ncclInt32, ncclSum, comm, nullptr), ncclInvalidArgument, "overlap");
  expect(ncclRedOpDestroy(ncclSum, comm), ncclInvalidArgument, "own");
  expect(ncclCommCount(comm, nullptr), ncclInvalidArgument, "count");
  ncclRedOp_t op = ncclSum;
  int scalar = 2;
  expect(ncclRedOpCreatePreMulSum(&op, nullptr, ncclInt32, ncclScalarHostImmediate, comm), ncclInvalidArgument,
         "scalar");
  check(ncclRedOpCreatePreMulSum(&op, &scalar, ncclInt32, ncclScalarHostImmediate, comm), "ncclRedOpCreatePreMulSum");
  expect(ncclAllReduce(at, at, 1, ncclFloat32, op, comm, nullptr), ncclInvalidArgument, "datatype");
  expect(ncclAllReduce(at, at, 1, ncclInt32, op, world.comm(1), nullptr), ncclInvalidArgument, "operator");
  expect(ncclRedOpDestroy(op, world.comm(1)), ncclInvalidArgument, "not made on this communicator");
  check(ncclRedOpDestroy(op, comm), "ncclRedOpDestroy");
}

TEST_F(Mistakes, MakeNoCommunicator) {
  ncclComm_t comm = nullptr;
  ncclUniqueId id;
  check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  EXPECT_EQ(ncclCommInitRank(nullptr, 1, id, 0), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRank(&comm, 0, id, 0), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRank(&comm, 2, id, 2), ncclInvalidArgument);
  ncclUniqueId nonsense{};
  EXPECT_EQ(ncclCommInitRank(&comm, 1, nonsense, 0), ncclInvalidArgument);
  EXPECT_EQ(comm, nullptr);
  ncclConfig_t config{};
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInvalidArgument) << "without its initializer";
  config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 2;
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInvalidArgument) << "blocking is 2";
  std::vector<ncclComm_t> comms(at(gpus()) + 1);
  EXPECT_EQ(ncclCommInitAll(comms.data(), gpus() + 1, nullptr), ncclInvalidArgument);
  const int twice[] = {0, 0};
  EXPECT_EQ(ncclCommInitAll(comms.data(), 2, twice), ncclInvalidUsage);
  EXPECT_EQ(ncclGetUniqueId(nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclCommDestroy(nullptr), ncclSuccess);
}

TEST_F(Mistakes, OfRanksThatContradictEachOtherMakeNoCommunicator) {
  const auto make = [](int first_size, int second_rank) {
    std::vector<ncclComm_t> comms(2);
    ncclUniqueId id;
    check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    check(ncclGroupStart(), "ncclGroupStart");
    check(ncclCommInitRank(&comms[0], first_size, id, 0), "ncclCommInitRank");
    check(ncclCommInitRank(&comms[1], 2, id, second_rank), "ncclCommInitRank");
    const ncclResult_t end = ncclGroupEnd();
    EXPECT_EQ(comms, std::vector<ncclComm_t>(2)) << "none is left of those that were not made";
    return end;
  };
  check(cudaSetDevice(0), "cudaSetDevice");
  EXPECT_NE(make(2, 0), ncclSuccess) << "rank 0 twice";
  EXPECT_NE(make(3, 1), ncclSuccess) << "3 ranks, and 2";
}

TEST_F(Mistakes, ThatAreNoneInNcclAreRefusedInOneLine) {
  const World world(1);
  ncclComm_t made = world.comm(0);
  int nobody = 0;
  EXPECT_EQ(ncclCommShrink(world.comm(0), &nobody, 0, &made, nullptr, NCCL_SHRINK_DEFAULT), ncclInvalidUsage);
  EXPECT_EQ(made, nullptr);
  const std::string why = ncclGetLastError(nullptr);
  EXPECT_NE(why.find("ncclCommShrink"), std::string::npos) << why;
  EXPECT_EQ(why.find('\n'), std::string::npos) << why;
  EXPECT_EQ(ncclCommRevoke(world.comm(0), NCCL_REVOKE_DEFAULT), ncclInvalidUsage);
}

TEST_F(Mistakes, HaveAWordForEveryResult) {
  int version = 0;
  check(ncclGetVersion(&version), "ncclGetVersion");
  EXPECT_EQ(version, NCCL_VERSION_CODE);
  for (int result = ncclSuccess; result < ncclNumResults; ++result)
    for (int other = ncclSuccess; other < result; ++other)
      EXPECT_STRNE(ncclGetErrorString(static_cast<ncclResult_t>(result)),
                   ncclGetErrorString(static_cast<ncclResult_t>(other)))
          << result << " and " << other;
}

TEST_F(Mistakes, InCallsThatDifferBetweenRanksFailOnEveryRank) {
  const World world(2);
  std::vector<Memory> memory;
  for (int r = 0; r < 2; ++r) memory.emplace_back(r, 1 << 16);
  world.start([&](int r) {
    return ncclBroadcast(memory[at(r)].at(), memory[at(r)].at(), r == 0 ? 1 << 14 : 1 << 13, ncclInt32, 0,
                         world.comm(r), world.stream(r));
  });
  for (int r = 0; r < 2; ++r) {
    check(cudaSetDevice(r), "cudaSetDevice");
    check(cudaStreamSynchronize(world.stream(r)), "cudaStreamSynchronize");
    ncclResult_t error = ncclSuccess;
    check(ncclCommGetAsyncError(world.comm(r), &error), "ncclCommGetAsyncError");
    EXPECT_NE(error, ncclSuccess) << "rank " << r;
    EXPECT_STRNE(ncclGetLastError(world.comm(r)), "");
    EXPECT_EQ(ncclBroadcast(memory[at(r)].at(), memory[at(r)].at(), 1, ncclInt32, 0, world.comm(r), world.stream(r)),
              error)
        << "a later call";
  }
}

}  // namespace
}  // namespace nccl_programs
