// What belongs together between ncclGroupStart and ncclGroupEnd, and calls that are queued.
#include <numeric>

#include "tests/nccl_programs/world_cuda.hpp"

namespace nccl_programs {
namespace {

constexpr int kRanks = 3;
constexpr std::size_t kCount = 5;
constexpr std::size_t kBytes = kCount * sizeof(int);

std::vector<double> values_of(int rank, int message = 0) {
  std::vector<double> values(kCount);
  std::iota(values.begin(), values.end(), 100.0 * rank + 10.0 * message);
  return values;
}

Memory message_of(int rank, int message = 0) { return {rank, encode(ncclInt32, values_of(rank, message))}; }

std::vector<double> sum_of_all(int times = 1) {
  std::vector<double> sum(kCount);
  for (int r = 0; r < kRanks; ++r)
    for (std::size_t i = 0; i < kCount; ++i) sum[i] += times * values_of(r)[i];
  return sum;
}

void expect_message(const Memory& memory, int from, int message, const std::string& what) {
  expect_values(memory, ncclInt32, 0, values_of(from, message), what);
}

std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

class Groups : public testing::Test {
 protected:
  void SetUp() override {
    if (gpus() < kRanks) GTEST_SKIP() << "needs " << kRanks << " GPUs, there are " << gpus();
  }
};

TEST_F(Groups, SendToTheOwnRankAsToAnyOther) {
  const World world(kRanks);
  std::vector<Memory> first, second, from_self, from_other;
  for (int r = 0; r < kRanks; ++r) {
    first.push_back(message_of(r, 1)), second.push_back(message_of(r, 2));
    from_self.emplace_back(r, kBytes), from_other.emplace_back(r, kBytes);
  }
  world.run([&](int r) {
    const int next = (r + 1) % kRanks, previous = (r + kRanks - 1) % kRanks;
    check(ncclRecv(from_self[at(r)].at(), kCount, ncclInt32, r, world.comm(r), world.stream(r)), "ncclRecv");
    check(ncclSend(first[at(r)].at(), kCount, ncclInt32, r, world.comm(r), world.stream(r)), "ncclSend");
    check(ncclSend(second[at(r)].at(), kCount, ncclInt32, next, world.comm(r), world.stream(r)), "ncclSend");
    return ncclRecv(from_other[at(r)].at(), kCount, ncclInt32, previous, world.comm(r), world.stream(r));
  });
  for (int r = 0; r < kRanks; ++r) {
    expect_message(from_self[at(r)], r, 1, "rank " + std::to_string(r) + " from itself");
    expect_message(from_other[at(r)], (r + kRanks - 1) % kRanks, 2, "rank " + std::to_string(r));
  }
}

TEST_F(Groups, ASendToTheOwnRankNeedsItsReceive) {
  const World world(1);
  const Memory memory = message_of(0);
  EXPECT_EQ(ncclSend(memory.at(), kCount, ncclInt32, 0, world.comm(0), world.stream(0)), ncclInvalidUsage);
  EXPECT_NE(std::string(ncclGetLastError(nullptr)).find("1 sends"), std::string::npos) << ncclGetLastError(nullptr);
}

TEST_F(Groups, MixCollectivesAndMessagesInOtherOrdersOnEveryRank) {
  const World world(kRanks);
  std::vector<Memory> sum, received, sent;
  for (int r = 0; r < kRanks; ++r) {
    sum.push_back(message_of(r)), sent.push_back(message_of(r, 3)), received.emplace_back(r, kBytes);
  }
  world.run([&](int r) {
    const auto collective = [&] {
      return ncclAllReduce(sum[at(r)].at(), sum[at(r)].at(), kCount, ncclInt32, ncclSum, world.comm(r),
                           world.stream(r));
    };
    if (r == 0) check(collective(), "ncclAllReduce");
    check(ncclSend(sent[at(r)].at(), kCount, ncclInt32, (r + 1) % kRanks, world.comm(r), world.stream(r)), "ncclSend");
    if (r == 1) check(collective(), "ncclAllReduce");
    check(ncclRecv(received[at(r)].at(), kCount, ncclInt32, (r + kRanks - 1) % kRanks, world.comm(r), world.stream(r)),
          "ncclRecv");
    return r == 2 ? collective() : ncclSuccess;
  });
  for (int r = 0; r < kRanks; ++r) {
    expect_values(sum[at(r)], ncclInt32, 0, sum_of_all(), "rank " + std::to_string(r));
    expect_message(received[at(r)], (r + kRanks - 1) % kRanks, 3, "rank " + std::to_string(r));
  }
}

TEST_F(Groups, RunMoreMessagesThanOneLaunchHolds) {
  constexpr int kMessages = 90;  // 4 x 90 of each rank
  const World world(kRanks);
  std::vector<Memory> out, in;
  for (int r = 0; r < kRanks; ++r) {
    std::vector<double> all;
    for (int m = 0; m < kMessages; ++m) all.push_back(1000.0 * r + m);
    out.emplace_back(r, encode(ncclInt32, all));
    in.emplace_back(r, kRanks * kMessages * sizeof(int));
  }
  world.run([&](int r) {
    for (int m = 0; m < kMessages; ++m)
      for (int peer = 0; peer < kRanks; ++peer) {
        if (peer == r) continue;
        check(ncclSend(out[at(r)].at(at(m) * sizeof(int)), 1, ncclInt32, peer, world.comm(r), world.stream(r)),
              "ncclSend");
        check(ncclRecv(in[at(r)].at((at(peer) * kMessages + at(m)) * sizeof(int)), 1, ncclInt32, peer, world.comm(r),
                       world.stream(r)),
              "ncclRecv");
      }
    return ncclSuccess;
  });
  for (int r = 0; r < kRanks; ++r)
    for (int from = 0; from < kRanks; ++from) {
      if (from == r) continue;
      std::vector<double> expected;
      for (int m = 0; m < kMessages; ++m) expected.push_back(1000.0 * from + m);
      expect_values(in[at(r)], ncclInt32, at(from) * kMessages, expected, "rank " + std::to_string(r));
    }
}

TEST_F(Groups, PassOnWhatTheyReceive) {
  const World world(kRanks);
  std::vector<Memory> all;
  for (int r = 0; r < kRanks; ++r) {
    std::vector<double> mine(kRanks, -1);
    mine[at(r)] = r;
    all.emplace_back(r, encode(ncclInt32, mine));
  }
  // An all-gather along a ring: step 1 sends what step 0 received, in the same group.
  world.run([&](int r) {
    for (int step = 0; step + 1 < kRanks; ++step) {
      const int sent = (r + kRanks - step) % kRanks, received = (sent + kRanks - 1) % kRanks;
      check(ncclSend(all[at(r)].at(at(sent) * 4), 1, ncclInt32, (r + 1) % kRanks, world.comm(r), world.stream(r)),
            "ncclSend");
      check(ncclRecv(all[at(r)].at(at(received) * 4), 1, ncclInt32, (r + kRanks - 1) % kRanks, world.comm(r),
                     world.stream(r)),
            "ncclRecv");
    }
    return ncclSuccess;
  });
  for (int r = 0; r < kRanks; ++r)
    expect_values(all[at(r)], ncclInt32, 0, std::vector<double>{0, 1, 2}, "rank " + std::to_string(r));
}

TEST_F(Groups, HappenAtTheOutermostEnd) {
  const World world(kRanks);
  std::vector<Memory> memory;
  for (int r = 0; r < kRanks; ++r) memory.push_back(message_of(r));
  check(ncclGroupStart(), "ncclGroupStart");
  for (int r = 0; r < kRanks; ++r) {
    check(ncclGroupStart(), "ncclGroupStart");
    check(ncclAllReduce(memory[at(r)].at(), memory[at(r)].at(), kCount, ncclInt32, ncclSum, world.comm(r),
                        world.stream(r)),
          "ncclAllReduce");
    check(ncclGroupEnd(), "ncclGroupEnd");
  }
  expect_message(memory[0], 0, 0, "before the end");
  check(ncclGroupEnd(), "ncclGroupEnd");
  world.wait();
  expect_values(memory[0], ncclInt32, 0, sum_of_all(), "after the end");
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
}

TEST_F(Groups, WithAnErrorEndWithItAndDoNothing) {
  const World world(kRanks);
  std::vector<Memory> memory;
  for (int r = 0; r < kRanks; ++r) memory.push_back(message_of(r));
  const auto all_reduce = [&](int r) {
    return ncclAllReduce(memory[at(r)].at(), memory[at(r)].at(), kCount, ncclInt32, ncclSum, world.comm(r),
                         world.stream(r));
  };
  check(ncclGroupStart(), "ncclGroupStart");
  EXPECT_EQ(all_reduce(0), ncclSuccess);
  EXPECT_EQ(ncclBroadcast(memory[1].at(), memory[1].at(), kCount, ncclInt32, kRanks, world.comm(1), world.stream(1)),
            ncclInvalidArgument);
  EXPECT_EQ(all_reduce(2), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
  for (int r = 0; r < kRanks; ++r) expect_message(memory[at(r)], r, 0, "untouched, rank " + std::to_string(r));
  world.run(all_reduce);
  for (int r = 0; r < kRanks; ++r) expect_values(memory[at(r)], ncclInt32, 0, sum_of_all(), "the next group");
}

TEST_F(Groups, WaitForAllStreamsThatTheyName) {
  const World world(kRanks);
  std::vector<Memory> first, second;
  std::vector<cudaStream_t> others(kRanks);
  std::vector<std::vector<std::byte>> content(kRanks);
  for (int r = 0; r < kRanks; ++r) {
    first.push_back(message_of(r, 7)), second.push_back(message_of(r, 7));
    content[at(r)] = encode(ncclInt32, values_of(r));
    check(cudaSetDevice(r), "cudaSetDevice");
    check(cudaStreamCreateWithFlags(&others[at(r)], cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    for (const auto& [to, stream] :
         {std::pair(first[at(r)].at(), world.stream(r)), {second[at(r)].at(), others[at(r)]}})
      check(cudaMemcpyAsync(to, content[at(r)].data(), kBytes, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
  }
  world.start([&](int r) {
    check(
        ncclAllReduce(first[at(r)].at(), first[at(r)].at(), kCount, ncclInt32, ncclSum, world.comm(r), world.stream(r)),
        "ncclAllReduce");
    return ncclAllReduce(second[at(r)].at(), second[at(r)].at(), kCount, ncclInt32, ncclSum, world.comm(r),
                         others[at(r)]);
  });
  // Only the second stream is waited for.
  for (int r = 0; r < kRanks; ++r) {
    check(cudaSetDevice(r), "cudaSetDevice");
    check(cudaStreamSynchronize(others[at(r)]), "cudaStreamSynchronize");
    expect_values(first[at(r)], ncclInt32, 0, sum_of_all(), "first, rank " + std::to_string(r));
    expect_values(second[at(r)], ncclInt32, 0, sum_of_all(), "second, rank " + std::to_string(r));
    check(cudaStreamDestroy(others[at(r)]), "cudaStreamDestroy");
  }
  world.wait();
}

TEST_F(Groups, TakeTheDefaultStreamWithoutWaitingForTheCall) {
  const World world(kRanks);
  std::vector<Memory> memory;
  for (int r = 0; r < kRanks; ++r) memory.push_back(message_of(r));
  // One call after the other by one thread: waiting for the first would never end.
  world.start([&](int r) {
    return ncclAllReduce(memory[at(r)].at(), memory[at(r)].at(), kCount, ncclInt32, ncclSum, world.comm(r), nullptr);
  });
  for (int r = 0; r < kRanks; ++r) {
    check(cudaSetDevice(r), "cudaSetDevice");
    check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
    expect_values(memory[at(r)], ncclInt32, 0, sum_of_all(), "rank " + std::to_string(r));
  }
}

TEST_F(Groups, QueueManyCallsBeforeOneWait) {
  constexpr int kCalls = 20;
  const World world(kRanks);
  std::vector<Memory> memory;
  for (int r = 0; r < kRanks; ++r) memory.emplace_back(r, encode(ncclUint32, std::vector<double>(kCount, 1)));
  for (int call = 0; call < kCalls; ++call)
    world.start([&](int r) {
      return ncclAllReduce(memory[at(r)].at(), memory[at(r)].at(), kCount, ncclUint32, call % 2 ? ncclMax : ncclSum,
                           world.comm(r), world.stream(r));
    });
  world.wait();
  double expected = 1;
  for (int call = 0; call < kCalls; call += 2) expected *= kRanks;
  for (int r = 0; r < kRanks; ++r)
    expect_values(memory[at(r)], ncclUint32, 0, std::vector<double>(kCount, expected), "rank " + std::to_string(r));
}

TEST_F(Groups, MayBeSimulatedNowhere) {
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  check(ncclGroupStart(), "ncclGroupStart");
  EXPECT_EQ(ncclGroupSimulateEnd(&info), ncclInvalidUsage);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage) << "the group was dropped";
}

}  // namespace
}  // namespace nccl_programs
