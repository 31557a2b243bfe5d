// NCCL behind tutti's interface. Skipped, with the reason, without its library or without a GPU for each rank.
#include "collectives/nccl_library.hpp"
#include "tests/gpu_trials_cuda.hpp"

namespace tutti {
namespace {

using namespace test;

class NcclBackend : public Gpu {
 protected:
  void on_nccl(int least, const std::function<void(Session&)>& body, double timeout_s = 0) {
    try {
      (void)nccl::library();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
    if (GetParam() > count_) GTEST_SKIP() << GetParam() << " ranks, " << count_ << " CUDA devices";
    on_ranks(least, body, {.backend = BackendKind::nccl, .timeout_s = timeout_s});
  }
};
TUTTI_ON_GPUS(NcclBackend, 1, 2, 3, 4, 8);

template <class T>
void run_every_collective(Session& session) {
  Communicator comm = session.communicator();
  EXPECT_EQ(comm.backend(), BackendKind::nccl);
  const std::size_t most = amount(30011, 1501);
  const std::size_t room = room_of(most, comm.size());
  auto memory = comm.allocate<T>(2 * room);
  const Stream stream;
  for (const Collective collective : kMovers)
    for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, most})
      for (const bool in_place : {false, true})
        for (const bool streams : {false, true})
          run_trial(comm, memory.data(), room,
                    {.collective = collective,
                     .count = count,
                     .in_place = in_place,
                     .root = static_cast<int>(count) % comm.size(),
                     .stream = streams ? static_cast<cudaStream_t>(stream) : nullptr});
  comm.barrier();
  comm.all_reduce(memory.data(), memory.data(), 0, ReduceOp::sum);
}

TEST_P(NcclBackend, LeavesWhatItShouldInEveryType) {
  on_nccl(1, [](Session& session) {
    run_every_collective<float>(session);
    run_every_collective<double>(session);
    run_every_collective<f16>(session);
    run_every_collective<bf16>(session);
    run_every_collective<std::int8_t>(session);
    run_every_collective<std::uint8_t>(session);
    run_every_collective<std::int32_t>(session);
    run_every_collective<std::uint32_t>(session);
    run_every_collective<std::int64_t>(session);
    run_every_collective<std::uint64_t>(session);
  });
}

TEST_P(NcclBackend, ReducesByEveryOperator) {
  on_nccl(1, [](Session& session) {
    Communicator comm = session.communicator();
    const int n = comm.size();
    auto memory = comm.allocate<double>(400);
    for (int o = 0; o < kReduceOps; ++o) {
      const auto op = static_cast<ReduceOp>(o);
      const std::vector<double> mine(100, comm.rank() + 2);
      comm.copy(memory.data(), mine.data(), 800);
      comm.all_reduce(memory.data(), memory.data() + 200, 100, op);
      double product = 1;
      for (int r = 0; r < n; ++r) product *= r + 2;
      const double sum = n * (n + 3) / 2.0;
      const double wanted[kReduceOps] = {sum, product, 2, n + 1.0, sum / n};
      std::vector<double> got(100);
      comm.copy(got.data(), memory.data() + 200, 800);
      EXPECT_DOUBLE_EQ(got[99], wanted[o]) << name_of(op) << ", rank " << comm.rank();
    }
  });
}

TEST_P(NcclBackend, LetsMessagesCrossAndKeepsTheirOrder) {
  on_nccl(2, [](Session& session) {
    Communicator comm = session.communicator();
    const int n = comm.size(), rank = comm.rank(), next = (rank + 1) % n, prev = (rank + n - 1) % n;
    const std::size_t count = amount(200000, 5000);
    auto buffer = comm.allocate<int>(4 * count);
    fill(comm, buffer.data(), rank, 2 * count);
    // As a group, as handles, and a group here that the peer meets with single calls.
    comm.group()
        .send(buffer.data(), count, next)
        .send(buffer.data() + count, count, next)
        .recv(buffer.data() + 2 * count, count, prev)
        .recv(buffer.data() + 3 * count, count, prev)
        .run();
    expect(comm, buffer.data() + 2 * count, 2 * count, "group", [&](std::size_t i) { return input(prev, i); });
    Handle sent = comm.isend(buffer.data(), count, next);
    Handle received = comm.irecv(buffer.data() + 2 * count, count, prev);
    sent.wait();
    received.wait();
    expect(comm, buffer.data() + 2 * count, count, "irecv", [&](std::size_t i) { return input(prev, i); });
    if (rank == 0) {
      Group all(comm);
      for (int peer = 1; peer < n; ++peer) all.send(buffer.data(), count, peer);
      all.run();
    } else {
      comm.recv(buffer.data() + 3 * count, count, 0);
      expect(comm, buffer.data() + 3 * count, count, "recv", [](std::size_t i) { return input(0, i); });
    }
  });
}

TEST_P(NcclBackend, EndsACallThatARankMissesInTimeAndNamesIt) {
  on_nccl(
      2,
      [](Session& session) {
        Communicator comm = session.communicator();
        auto buffer = comm.allocate<float>(100);
        const Stream stream;
        if (comm.rank() != 1) {
          ErrorCode code{};
          const std::string what =
              error_of([&] { comm.all_reduce(buffer.data(), buffer.data(), 100, ReduceOp::sum); }, &code);
          EXPECT_EQ(code, ErrorCode::timeout) << what;
          EXPECT_TRUE(holds(what, "all_reduce f32 sum, 100 elements")) << what;
          EXPECT_THROW(comm.barrier(), Error) << "rank " << comm.rank() << ": the communicator works again";
        }
        session.bootstrap_barrier();
      },
      2);
}

TEST_P(NcclBackend, EndsACallOnAStreamThatARankMissesToo) {
  on_nccl(
      2,
      [](Session& session) {
        Communicator comm = session.communicator();
        const Stream stream;
        if (comm.rank() != 1) {
          comm.barrier({.stream = stream});
          stream.wait();  // NCCL itself would wait for ever
          EXPECT_TRUE(holds(error_of([&] { comm.barrier(); }), "barrier: did not end")) << "rank " << comm.rank();
        }
        session.bootstrap_barrier();
      },
      2);
}

TEST_P(NcclBackend, RefusesAnAlgorithmOfTuttis) {
  on_nccl(1, [](Session& session) {
    Communicator comm = session.communicator();
    EXPECT_TRUE(holds(error_of([&] { comm.barrier({.algorithm = Algorithm::dissemination}); }), "NCCL's choice"));
    comm.barrier();
  });
}

TEST_P(NcclBackend, TakesRegisteredMemoryAndCommunicatorsOfSomeRanks) {
  on_nccl(1, [](Session& session) {
    Communicator world = session.communicator();
    const std::size_t room = room_of(1000, world.size());
    const Foreign foreign(session, 2 * room * sizeof(float));
    const Registration registered = world.register_memory(foreign.as<void>(), 2 * room * sizeof(float));
    Communicator half = world.split(world.rank() % 2, 0);
    for (Communicator* const comm : {&world, &half})
      run_trial(*comm, foreign.as<float>(), room, {.collective = Collective::all_reduce, .count = 1000});
  });
}

TEST_P(NcclBackend, IsCapturedIntoGraphs) {
  on_nccl(1, [](Session& session) {
    Communicator comm = session.communicator();
    auto buffer = comm.allocate<float>(200);
    const Stream stream;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    comm.all_reduce(buffer.data(), buffer.data() + 100, 100, ReduceOp::sum, {.stream = stream});
    check(cudaStreamEndCapture(stream, &graph));
    check(cudaGraphInstantiate(&executable, graph, 0));
    for (int round = 0; round < 5; ++round) {
      fill(comm, buffer.data(), comm.rank(), 100, static_cast<std::size_t>(round));
      check(cudaGraphLaunch(executable, stream));
      stream.wait();
      expect(comm, buffer.data() + 100, 100, "replay",
             [&](std::size_t i) { return sum_of(comm.size(), i + static_cast<std::size_t>(round)); });
    }
    check(cudaGraphExecDestroy(executable));
    check(cudaGraphDestroy(graph));
  });
}

TEST(NcclRanksOnOneGpu, AreRefusedInALine) {
  std::string why;
  const int count = gpus(&why);
  if (count == 0) GTEST_SKIP() << why;
  unsetenv("TUTTI_DEVICE");
  const std::string what = error_of([&] { run_threads(count + 1, [](Session&) {}, {.backend = BackendKind::nccl}); });
  EXPECT_TRUE(holds(what, "would share a GPU")) << what;
}

}  // namespace
}  // namespace tutti
