// The collectives on GPUs, for ranks that are threads or processes, alone on a GPU or sharing it.
#include <algorithm>
#include <filesystem>

#include "tests/gpu_trials_cuda.hpp"

namespace tutti {
namespace {

using namespace test;

class Collectives : public Gpu {};
TUTTI_ON_GPUS(Collectives, 1, 2, 3, 5, 8);

template <class T>
void run_every_trial(Session& session, const std::vector<std::size_t>& counts) {
  Communicator comm = session.communicator();
  const std::size_t room = room_of(*std::max_element(counts.begin(), counts.end()), comm.size());
  auto mapped = comm.allocate<T>(2 * room);
  const Foreign foreign(session, 2 * room * sizeof(T));
  for (const Collective collective : kMovers)
    for (int a = 0; a < kAlgorithms; ++a)
      for (const std::size_t count : counts)
        for (int variant = 0; variant < 8; ++variant) {
          const bool one_each = count > 1000 && variant % 3 != 0;  // large ones: not every variant
          GpuTrial trial{.collective = collective, .algorithm = static_cast<Algorithm>(a), .count = count};
          trial.in_place = variant & 1;
          trial.shift = variant & 2 ? 1 : 0;
          trial.root = (variant + a) % comm.size();
          if (one_each || !serves(comm, trial, data_type_v<T>)) continue;
          run_trial(comm, variant & 4 ? foreign.as<T>() : mapped.data(), room, trial);
        }
}

TEST_P(Collectives, LeaveWhatTheyShouldByEveryAlgorithmFromEveryRoot) {
  on_ranks(1, [](Session& session) {
    // The last two are of several slices, and of more than the slots hold.
    const std::vector<std::size_t> on_a_gpu = {1, 7, 250, 30011, 300000}, if_emulated = {1, 7, 250, 5003};
    run_every_trial<float>(session, amount(on_a_gpu, if_emulated));
  });
}

TEST_P(Collectives, LeaveWhatTheyShouldInNarrowAndInWideTypes) {
  on_ranks(1, [](Session& session) {
    run_every_trial<std::int8_t>(session, {3, 1001});
    run_every_trial<f16>(session, {3, 1001});
    run_every_trial<bf16>(session, {3, 1001});
    run_every_trial<std::uint64_t>(session, {3, 1001});
    run_every_trial<double>(session, {3, 1001});
  });
}

TEST_P(Collectives, OfNoElementsAndBarriersEnd) {
  on_ranks(1, [](Session& session) {
    Communicator comm = session.communicator();
    float* const none = nullptr;
    comm.all_reduce(none, none, 0, ReduceOp::sum);
    comm.all_to_all(none, none, 0);
    comm.gather(none, none, 0, comm.size() - 1);
    for (int a = 0; a < kAlgorithms; ++a)
      if (serves(comm, {.collective = Collective::barrier, .algorithm = static_cast<Algorithm>(a)}, DataType::f32))
        for (int i = 0; i < 20; ++i) comm.barrier({.algorithm = static_cast<Algorithm>(a)});
  });
}

TEST_P(Collectives, ReduceByEveryOperator) {
  on_ranks(1, [](Session& session) {
    Communicator comm = session.communicator();
    const int n = comm.size(), rank = comm.rank();
    constexpr std::size_t count = 1000;
    auto in = comm.allocate<int>(count);
    auto out = comm.allocate<int>(count);
    fill(comm, in.data(), rank, count);
    const auto over = [n](std::size_t i, int start, auto step) {
      int value = start;
      for (int r = 0; r < n; ++r) value = step(value, input(r, i));
      return value;
    };
    for (int o = 0; o < kReduceOps; ++o) {
      const auto op = static_cast<ReduceOp>(o);
      comm.all_reduce(in.data(), out.data(), count, op);
      expect(comm, out.data(), count, name_of(op), [&](std::size_t i) {
        switch (op) {
          case ReduceOp::prod: return over(i, 1, [](int a, int b) { return a * b; });
          case ReduceOp::min: return over(i, 1000, [](int a, int b) { return std::min(a, b); });
          case ReduceOp::max: return over(i, -1000, [](int a, int b) { return std::max(a, b); });
          case ReduceOp::avg: return sum_of(n, i) / n;
          default: return sum_of(n, i);
        }
      });
    }
  });
}

TEST_P(Collectives, MessagesOfAGroupArriveInOrder) {
  on_ranks(2, [](Session& session) {
    Communicator comm = session.communicator();
    const int n = comm.size(), rank = comm.rank(), next = (rank + 1) % n, prev = (rank + n - 1) % n;
    for (const std::size_t count : {1, 500, amount(1000000, 40000)}) {
      auto buffer = comm.allocate<int>(4 * count);
      fill(comm, buffer.data(), rank, 2 * count);
      comm.group()
          .send(buffer.data(), count, next)
          .send(buffer.data() + count, count, next)
          .recv(buffer.data() + 2 * count, count, prev)
          .recv(buffer.data() + 3 * count, count, prev)
          .run();
      expect(comm, buffer.data() + 2 * count, 2 * count, "group", [&](std::size_t i) { return input(prev, i); });
    }
  });
}

TEST_P(Collectives, MessagesThatCrossMeet) {
  on_ranks(2, [](Session& session) {
    Communicator comm = session.communicator();
    const int n = comm.size(), rank = comm.rank(), next = (rank + 1) % n, prev = (rank + n - 1) % n;
    const std::size_t count = amount(200000, 40000);
    auto buffer = comm.allocate<int>(2 * count);
    for (int round = 0; round < amount(5, 2); ++round) {
      fill(comm, buffer.data(), rank + round, count);
      Handle sent = comm.isend(buffer.data(), count, next);
      Handle received = comm.irecv(buffer.data() + count, count, prev);
      sent.wait();
      received.wait();
      expect(comm, buffer.data() + count, count, "irecv", [&](std::size_t i) { return input(prev + round, i); });
    }
  });
}

TEST_P(Collectives, PacketTagsMayRepeat) {
  on_ranks(1, [](Session& session) {
    Communicator comm = session.communicator({.first_packet_use = (std::uint64_t{1} << 32) - 3});
    auto memory = comm.allocate<float>(2 * room_of(100, comm.size()));
    for (int call = 0; call < 6; ++call)
      run_trial(comm, memory.data(), room_of(100, comm.size()),
                {.collective = Collective::all_reduce, .algorithm = Algorithm::packets, .count = 100});
  });
}

TEST_P(Collectives, WithAStreamReturnBeforeTheyEndAndKeepItsOrder) {
  on_ranks(1, [](Session& session) {
    Communicator comm = session.communicator();
    const std::size_t count = amount(1 << 20, 1 << 14);
    auto buffer = comm.allocate<float>(count);
    fill(comm, buffer.data(), 0, count);
    const Stream stream;
    for (int call = 0; call < 3; ++call)
      comm.all_reduce(buffer.data(), buffer.data(), count, ReduceOp::max, {.stream = stream});
    stream.wait();
    expect(comm, buffer.data(), count, "three calls", [&](std::size_t i) { return input(0, i); });
  });
}

TEST_P(Collectives, AMismatchedCallIsAnErrorThatNamesBothSides) {
  on_ranks(2, [](Session& session) {
    Communicator comm = session.communicator();
    auto buffer = comm.allocate<float>(1 << 20);
    ErrorCode code{};
    const std::string what = error_of(
        [&] {
          comm.all_reduce(buffer.data(), buffer.data(), (1u << 20) - static_cast<unsigned>(comm.rank()), ReduceOp::sum);
        },
        &code);
    EXPECT_TRUE(code == ErrorCode::mismatch || code == ErrorCode::peer_failed) << what;
    EXPECT_THROW(comm.barrier(), Error) << "rank " << comm.rank() << ": the communicator works again";
  });
}

TEST_P(Collectives, AMissingRankEndsTheWaitInTime) {
  on_ranks(2,
           [](Session& session) {
             Communicator comm = session.communicator();
             if (comm.rank() == 1) return session.bootstrap_barrier();
             ErrorCode code{};
             const std::string what = error_of([&] { comm.barrier(); }, &code);
             EXPECT_TRUE(code == ErrorCode::timeout || (comm.size() > 2 && code == ErrorCode::peer_failed)) << what;
             if (code == ErrorCode::timeout) {
               EXPECT_TRUE(holds(what, "rank 1")) << what;
             }
             session.bootstrap_barrier();
           },
           {.timeout_s = 2});
}

TEST_P(Collectives, AllocatingIsRefusedAndDestroyingPutOffWhileACallIsInFlight) {
  on_ranks(2, [](Session& session) {
    Communicator comm = session.communicator();
    constexpr std::size_t count = 1 << 20;
    const int rank = comm.rank();
    auto buffer = comm.allocate<int>(count);
    auto other = comm.allocate<int>(count);
    fill(comm, buffer.data(), rank, count);
    {
      Handle sent;
      if (rank == 0) sent = comm.isend(buffer.data(), count, 1);
      other = {};
      ErrorCode code{};
      const std::string what = error_of([&] { (void)comm.allocate<int>(1); }, &code);
      EXPECT_EQ(code, ErrorCode::invalid_argument) << "rank " << rank << ": " << what;
      EXPECT_THROW(session.communicator(), Error) << "rank " << rank;
      EXPECT_THROW((void)comm.register_memory(buffer.data(), 8), Error) << "rank " << rank;
      if (rank == 1) comm.recv(buffer.data(), count, 0);
    }
    if (rank == 1) expect(comm, buffer.data(), count, "recv", [](std::size_t i) { return input(0, i); });
    session.bootstrap_barrier();
    EXPECT_NO_THROW((void)comm.allocate<int>(1)) << "rank " << rank;
    comm.barrier();
  });
}

TEST_P(Collectives, AnAlgorithmThatDoesNotExistIsRefusedByEveryWorld) {
  on_ranks(1, [](Session& session) {
    Communicator comm = session.communicator();
    auto buffer = comm.allocate<float>(100);
    EXPECT_THROW(comm.all_reduce(buffer.data(), buffer.data(), 100, ReduceOp::sum, {.algorithm = Algorithm::direct}),
                 Error)
        << "rank " << comm.rank() << " of " << comm.size();
    comm.barrier();
  });
}

// CASES L1: the order follows the ranks, whatever numbers the GPUs have in each process; see VISIBLE_GPUS below.
TEST_P(Collectives, GatheredChunksStandInTheOrderOfRanks) {
  on_ranks(1, [](Session& session) {
    Communicator comm = session.communicator();
    const auto n = static_cast<std::size_t>(comm.size());
    auto all = comm.allocate<int>(n * n);
    const std::vector<int> mine(n, comm.rank() + 1);
    auto own = comm.allocate<int>(n);
    comm.copy(own.data(), mine.data(), n * sizeof(int));
    comm.all_gather(own.data(), all.data(), n);
    expect(comm, all.data(), n * n, "all_gather", [n](std::size_t i) { return static_cast<int>(i / n) + 1; });
    comm.reduce_scatter(all.data(), own.data(), n, ReduceOp::sum);
    expect(comm, own.data(), n, "reduce_scatter", [&](std::size_t) { return comm.size() * (comm.rank() + 1); });
  });
}

/// The GPUs of this machine, before CUDA is asked, which would fix what the process sees.
int gpus_of_machine() {
  if (const char* const count = std::getenv("GPU_COUNT")) return std::atoi(count);
  std::error_code none;
  const std::filesystem::directory_iterator folder("/proc/driver/nvidia/gpus", none);
  return none ? 0 : static_cast<int>(std::distance(begin(folder), end(folder)));
}

/// What this process sees: with VISIBLE_GPUS "rotated" each rank all GPUs, in another order; with "alone" one, so that
/// everyone's is number 0.
[[maybe_unused]] const bool visible_devices_set = [] {
  const char* const how = std::getenv("VISIBLE_GPUS");
  const int gpus = how ? gpus_of_machine() : 0, rank = launched_rank();
  std::string list;
  for (int i = 0; i < (how && std::string(how) == "alone" ? std::min(gpus, 1) : gpus); ++i)
    list.append(i ? "," : "").append(std::to_string((rank + i) % gpus));
  return !list.empty() && setenv("CUDA_VISIBLE_DEVICES", list.c_str(), 1) == 0;
}();

}  // namespace
}  // namespace tutti
