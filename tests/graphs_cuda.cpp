// Collectives in CUDA graphs, and in the order of streams (CASES N1, N3).
#include <chrono>
#include <memory>
#include <thread>

#include "tests/gpu_trials_cuda.hpp"

namespace tutti {
namespace {

using namespace test;

class Graphs : public Gpu {};
TUTTI_ON_GPUS(Graphs, 1, 2, 3, 4);
class StreamOrder : public Gpu {};
TUTTI_ON_GPUS(StreamOrder, 1, 2, 3, 4);

/// What a capture of `calls` on `stream` makes.
class Graph {
 public:
  Graph(cudaStream_t stream, const std::function<void()>& calls) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    calls();
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream, &graph));
    check(cudaGraphInstantiate(&executable_, graph, 0));
    check(cudaGraphDestroy(graph));
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() { cudaGraphExecDestroy(executable_); }
  void launch(cudaStream_t stream) const { check(cudaGraphLaunch(executable_, stream)); }

 private:
  cudaGraphExec_t executable_ = nullptr;
};

constexpr std::size_t kCount = 5003;

/// Small numbers that differ by rank and round.
void put(float* to, int rank, int round, cudaStream_t stream, std::vector<float>& host) {
  host.resize(kCount);
  for (std::size_t i = 0; i < kCount; ++i) host[i] = static_cast<float>(input(rank + round, i));
  check(cudaMemcpyAsync(to, host.data(), kCount * sizeof(float), cudaMemcpyHostToDevice, stream));
}
int sum_in_round(int ranks, int round, std::size_t i) {
  int sum = 0;
  for (int r = 0; r < ranks; ++r) sum += input(r + round, i);
  return sum;
}

TEST_P(Graphs, AreRightOnEachReplayWithBuffersNeverUsedBefore) {
  on_ranks(1, [](Session& session) {
    Communicator comm = session.communicator();
    const int n = comm.size(), rank = comm.rank();
    const Foreign foreign(session, 4 * kCount * sizeof(float));
    auto mapped = comm.allocate<float>(2 * kCount);
    float* const a = foreign.as<float>();
    float* const b = a + kCount;
    float* const c = b + kCount;
    const Stream stream;
    const Graph graph(stream, [&] {
      comm.all_reduce(a, b, kCount, ReduceOp::sum, {.stream = stream});
      comm.all_reduce(b, c, kCount, ReduceOp::max, {.algorithm = Algorithm::ring, .stream = stream});
      comm.all_reduce(a, mapped.data(), kCount, ReduceOp::sum, {.algorithm = Algorithm::two_shot, .stream = stream});
    });
    std::vector<float> host;
    for (int round = 0; round < amount(100, 12); ++round) {
      put(a, rank, round, stream, host);
      graph.launch(stream);
      stream.wait();
      if (round % 10 != 0) continue;
      expect(comm, c, kCount, "second of a replay", [&](std::size_t i) { return sum_in_round(n, round, i); });
      expect(comm, mapped.data(), kCount, "third of a replay",
             [&](std::size_t i) { return sum_in_round(n, round, i); });
    }
  });
}

TEST_P(Graphs, MayBeDroppedAndCapturedAnew) {
  on_ranks(1, [](Session& session) {
    Communicator comm = session.communicator();
    auto buffer = comm.allocate<float>(2 * kCount);
    const Stream stream;
    std::vector<float> host;
    for (int round = 0; round < amount(50, 8); ++round) {
      const Graph graph(stream, [&] {
        comm.all_reduce(buffer.data(), buffer.data() + kCount, kCount, ReduceOp::sum, {.stream = stream});
      });
      if (round % 2) continue;  // never launched
      put(buffer.data(), comm.rank(), round, stream, host);
      graph.launch(stream);
      stream.wait();
      expect(comm, buffer.data() + kCount, kCount, "replay",
             [&](std::size_t i) { return sum_in_round(comm.size(), round, i); });
    }
  });
}

TEST_P(Graphs, OnSeveralStreamsKeepTheirOrderAmongThemselvesAndWithOtherCalls) {
  on_ranks(2, [](Session& session) {
    Communicator comm = session.communicator();
    const int n = comm.size(), rank = comm.rank();
    auto buffer = comm.allocate<float>(8 * kCount);
    float* const at = buffer.data();
    const Stream first, second, third;
    const auto graph_of = [&](int which, cudaStream_t stream) {
      return std::make_unique<Graph>(stream, [=, &comm] {
        comm.all_reduce(at + which * 2 * kCount, at + (which * 2 + 1) * kCount, kCount, ReduceOp::sum,
                        {.stream = stream});
      });
    };
    const auto one = graph_of(0, first), two = graph_of(1, second);
    std::vector<float> hosts[3];
    for (int round = 0; round < amount(100, 12); ++round) {
      put(at, rank, round, first, hosts[0]);
      put(at + 2 * kCount, rank, round + 1, second, hosts[1]);
      put(at + 4 * kCount, rank, round + 2, third, hosts[2]);
      // Nobody waits between these, and each rank's streams run as they like.
      if ((round + rank) % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
      one->launch(first);
      comm.all_reduce(at + 4 * kCount, at + 5 * kCount, kCount, ReduceOp::sum, {.stream = third});
      two->launch(second);
      for (const Stream* stream : {&first, &second, &third}) stream->wait();
      if (round % 10 != 0) continue;
      for (int slot = 0; slot < 3; ++slot)
        expect(comm, at + (2 * slot + 1) * kCount, kCount, "mixed",
               [&](std::size_t i) { return sum_in_round(n, round + slot, i); });
    }
  });
}

TEST_P(Graphs, WithTwoBranchesKeepTheOrderOfCalls) {
  on_ranks(2, [](Session& session) {
    Communicator comm = session.communicator();
    auto buffer = comm.allocate<float>(4 * kCount);
    float* const at = buffer.data();
    const Stream main, side;
    cudaEvent_t fork = nullptr, join = nullptr;
    check(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    check(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    {
      const Graph graph(main, [&] {
        check(cudaEventRecord(fork, main));
        check(cudaStreamWaitEvent(side, fork, 0));
        // On side branches in turn: without an edge between them they could meet another call on some peer.
        comm.all_reduce(at, at + kCount, kCount, ReduceOp::sum, {.stream = main});
        comm.all_reduce(at + 2 * kCount, at + 3 * kCount, kCount, ReduceOp::sum, {.stream = side});
        comm.barrier({.stream = main});
        check(cudaEventRecord(join, side));
        check(cudaStreamWaitEvent(main, join, 0));
      });
      std::vector<float> hosts[2];
      for (int round = 0; round < amount(50, 8); ++round) {
        put(at, comm.rank(), round, main, hosts[0]);
        put(at + 2 * kCount, comm.rank(), round + 1, main, hosts[1]);
        graph.launch(main);
        main.wait();
        for (int which = 0; which < 2; ++which)
          expect(comm, at + (2 * which + 1) * kCount, kCount, "branch",
                 [&](std::size_t i) { return sum_in_round(comm.size(), round + which, i); });
      }
    }
    check(cudaEventDestroy(fork));
    check(cudaEventDestroy(join));
  });
}

TEST_P(Graphs, OutliveTheirCommunicator) {
  on_ranks(1, [](Session& session) {
    Communicator comm = session.communicator(), other = session.communicator();
    auto buffer = other.allocate<float>(2 * kCount);
    const Stream stream;
    const Graph graph(stream, [&] {
      comm.all_reduce(buffer.data(), buffer.data() + kCount, kCount, ReduceOp::sum, {.stream = stream});
    });
    comm = {};
    // What the graph needs is still there, though this frees all that is not.
    (void)other.allocate<float>(1);
    std::vector<float> host;
    for (int round = 0; round < amount(10, 3); ++round) {
      put(buffer.data(), other.rank(), round, stream, host);
      graph.launch(stream);
      stream.wait();
      expect(other, buffer.data() + kCount, kCount, "replay without a communicator",
             [&](std::size_t i) { return sum_in_round(other.size(), round, i); });
    }
  });
}

TEST_P(Graphs, InFlightForbidToAllocateLikeOtherCalls) {
  on_ranks(2, [](Session& session) {
    Communicator comm = session.communicator();
    auto buffer = comm.allocate<float>(2 * kCount);
    const Stream stream;
    const Graph graph(stream, [&] { comm.barrier({.stream = stream}); });
    if (comm.rank() == 0) graph.launch(stream);  // waits for rank 1's
    ErrorCode code{};
    const std::string what = error_of([&] { (void)comm.allocate<int>(1); }, &code);
    EXPECT_EQ(code, ErrorCode::invalid_argument) << "rank " << comm.rank() << ": " << what;
    if (comm.rank() != 0) graph.launch(stream);
    stream.wait();
    session.bootstrap_barrier();
    EXPECT_NO_THROW((void)comm.allocate<int>(1)) << "rank " << comm.rank();
  });
}

TEST_P(Graphs, RefuseInALineWhatCannotBeCaptured) {
  on_ranks(1, [](Session& session) {
    Communicator comm = session.communicator();
    auto buffer = comm.allocate<float>(100);
    cudaStream_t blocking = nullptr;
    check(cudaStreamCreate(&blocking));
    {
      const Graph graph(blocking, [&] {
        const std::string handle = error_of([&] {
          comm.all_reduce_async(buffer.data(), buffer.data(), 100, ReduceOp::sum, {.stream = blocking}).wait();
        });
        EXPECT_TRUE(holds(handle, "a handle cannot wait for what is captured")) << handle;
        const std::string without = error_of([&] { comm.barrier(); });
        EXPECT_TRUE(holds(without, "is being captured")) << without;
        const std::string copy = error_of([&] { comm.copy(buffer.data(), buffer.data() + 50, 4); });
        EXPECT_TRUE(holds(copy, "is being captured")) << copy;
        // What goes its own way does not disturb the capture.
        EXPECT_NO_THROW((void)comm.allocate<float>(10)) << "rank " << comm.rank();
        comm.barrier({.stream = blocking});
      });
      graph.launch(blocking);
      check(cudaStreamSynchronize(blocking));
    }
    check(cudaStreamDestroy(blocking));
  });
}

// CASES N3.
TEST_P(StreamOrder, ABufferMayBeOverwrittenRightBehindTheCall) {
  on_ranks(2, [](Session& session) {
    Communicator comm = session.communicator();
    const int n = comm.size(), rank = comm.rank();
    auto mapped = comm.allocate<float>(2 * kCount);
    const Foreign foreign(session, 2 * kCount * sizeof(float));
    const Stream stream, reader;
    cudaEvent_t done = nullptr;
    check(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    const auto late = [](void*) { std::this_thread::sleep_for(std::chrono::microseconds(300)); };
    std::vector<float> host, seen(kCount);
    for (const Algorithm algorithm : {Algorithm::one_shot, Algorithm::two_shot, Algorithm::ring, Algorithm::tree})
      for (float* const at : {mapped.data(), foreign.as<float>()})
        for (int round = 0; round < amount(40, 4); ++round) {
          put(at, rank, round, stream, host);
          if (round % n == rank) check(cudaLaunchHostFunc(stream, late, nullptr));
          comm.all_reduce(at, at + kCount, kCount, ReduceOp::sum, {.algorithm = algorithm, .stream = stream});
          check(cudaMemsetAsync(at, 0xff, kCount * sizeof(float), stream));  // a NaN
          check(cudaEventRecord(done, stream));
          check(cudaStreamWaitEvent(reader, done, 0));
          check(cudaMemcpyAsync(seen.data(), at + kCount, kCount * sizeof(float), cudaMemcpyDeviceToHost, reader));
          reader.wait();
          for (std::size_t i = 0; i < kCount; ++i)
            ASSERT_EQ(seen[i], static_cast<float>(sum_in_round(n, round, i)))
                << name_of(algorithm) << ", rank " << rank << ", round " << round << ", index " << i;
        }
    check(cudaEventDestroy(done));
  });
}

}  // namespace
}  // namespace tutti
