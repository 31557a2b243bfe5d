// Memory on GPUs: the callers' own registered, segments of either kind, and that nothing of it is left behind.
#include <filesystem>

#include "tests/gpu_trials_cuda.hpp"

namespace tutti {
namespace {

using namespace test;

class Memory : public Gpu {
 protected:
  void TearDown() override {
    unsetenv("TUTTI_GPU_MEMORY");
    Gpu::TearDown();
  }
};
TUTTI_ON_GPUS(Memory, 1, 2, 3, 4);

void sum_in(Communicator& comm, float* memory, std::size_t room, std::size_t count) {
  for (const Algorithm algorithm : {Algorithm::two_shot, Algorithm::ring, Algorithm::automatic})
    run_trial(comm, memory, room, {.collective = Collective::all_reduce, .algorithm = algorithm, .count = count});
}

TEST_P(Memory, OfCudaMallocIsReachedByPeersOnceRegistered) {
  on_ranks(1, [](Session& session) {
    Communicator comm = session.communicator();
    const std::size_t count = amount(100003, 5003), room = count + 64;
    const Foreign foreign(session, (3 * room) * sizeof(float));
    // Not at its allocation's beginning, and another place on each rank.
    float* const memory = foreign.as<float>() + 5 + static_cast<std::size_t>(comm.rank()) * 16;
    for (int round = 0; round < amount(3, 2); ++round) {
      Registration all = comm.register_memory(memory, 2 * room * sizeof(float));
      EXPECT_TRUE(all.mapped()) << "rank " << comm.rank();
      // A part once more: the peers map the allocation once.
      Registration part = comm.register_memory(memory + 100, 400);
      EXPECT_TRUE(part.mapped()) << "rank " << comm.rank();
      sum_in(comm, memory, room, count);
    }
    sum_in(comm, memory, room, count);  // staged again
  });
}

TEST_P(Memory, ThatCannotBeMappedIsStagedAndRegistrationSaysSo) {
  on_ranks(1, [](Session& session) {
    Communicator comm = session.communicator();
    std::vector<float> host(100);
    EXPECT_FALSE(comm.register_memory(host.data(), host.size() * sizeof(float)).mapped()) << "rank " << comm.rank();
    EXPECT_TRUE(comm.register_memory(nullptr, 0).mapped()) << "rank " << comm.rank();
    // One rank's is enough.
    const Foreign foreign(session, 4096);
    void* const mine = comm.rank() == 0 ? static_cast<void*>(host.data()) : foreign.as<void>();
    EXPECT_FALSE(comm.register_memory(mine, 400).mapped()) << "rank " << comm.rank();
  });
}

TEST_P(Memory, OfAPoolWorksRegisteredOrNot) {
  on_ranks(1, [](Session& session) {
    Communicator comm = session.communicator();
    constexpr std::size_t count = 5000, room = count + 64;
    const Stream stream;
    void* memory = nullptr;
    session.bootstrap_barrier();
    if (cudaMallocAsync(&memory, 2 * room * sizeof(float), stream) != cudaSuccess) cudaGetLastError();
    stream.wait();
    session.bootstrap_barrier();
    bool everyone = true;
    for (const int has : session.bootstrap_all_gather(static_cast<int>(memory != nullptr))) everyone &= has != 0;
    if (everyone) {
      const Registration registered = comm.register_memory(memory, 2 * room * sizeof(float));
      sum_in(comm, static_cast<float*>(memory), room, count);
    }
    session.bootstrap_barrier();
    if (memory) check(cudaFreeAsync(memory, stream));
    stream.wait();
    session.bootstrap_barrier();
  });
}

TEST_P(Memory, OfEitherMakerServes) {
  for (const char* const maker : {"malloc", "vmm"}) {
    setenv("TUTTI_GPU_MEMORY", maker, 1);
    on_ranks(1, [&](Session& session) {
      Communicator comm = session.communicator();
      const std::size_t count = amount(100003, 5003), room = count + 64;
      for (int round = 0; round < 3; ++round) {
        auto memory = comm.allocate<float>(2 * room + static_cast<std::size_t>(comm.rank()) * 1000);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % (2u << 20), 0u) << maker;
        std::vector<float> seen(room, 1);
        comm.copy(seen.data(), memory.data(), room * sizeof(float));
        EXPECT_EQ(std::count(seen.begin(), seen.end(), 0.0f), static_cast<std::ptrdiff_t>(room)) << maker;
        sum_in(comm, memory.data(), room, count);
      }
      EXPECT_EQ(comm.allocate<float>(comm.rank() % 2 ? 100 : 0).data() == nullptr, comm.rank() % 2 == 0) << maker;
    });
  }
}

TEST_P(Memory, OfAnUnknownMakerIsRefusedInALine) {
  setenv("TUTTI_GPU_MEMORY", "magic", 1);
  std::string what;
  if (GetParam() != kProcesses) {
    what = error_of([&] { run_threads(GetParam(), [](Session&) {}); });
  } else {
    what = error_of([] { Session session; });
  }
  EXPECT_TRUE(holds(what, "TUTTI_GPU_MEMORY is 'magic'")) << what;
}

TEST_P(Memory, MoreThanThereIsIsAnErrorOnAllRanksAndLeavesTheCommunicatorAlone) {
  on_ranks(1, [](Session& session) {
    Communicator comm = session.communicator();
    ErrorCode code{};
    const std::size_t bytes = comm.rank() == comm.size() - 1 ? std::size_t{1} << 46 : 4096;
    const std::string what = error_of([&] { (void)comm.allocate<char>(bytes); }, &code);
    EXPECT_EQ(code, ErrorCode::system) << what;
    EXPECT_TRUE(holds(what, "cannot give")) << what;
    auto memory = comm.allocate<float>(2 * room_of(100, comm.size()));
    sum_in(comm, memory.data(), room_of(100, comm.size()), 100);
  });
}

TEST_P(Memory, IsCopiedBetweenHostAndDevice) {
  on_ranks(1, [](Session& session) {
    Communicator comm = session.communicator();
    auto memory = comm.allocate<int>(2000);
    std::vector<int> numbers(1000);
    for (int i = 0; i < 1000; ++i) numbers[static_cast<std::size_t>(i)] = i * 7 + comm.rank();
    comm.copy(memory.data(), numbers.data(), 4000);
    comm.copy(memory.data() + 1000, memory.data(), 4000);
    comm.copy(memory.data(), memory.data(), 0);
    std::vector<int> back(1000);
    comm.copy(back.data(), memory.data() + 1000, 4000);
    EXPECT_EQ(back, numbers) << "rank " << comm.rank();
  });
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator folder("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(folder), end(folder)));
}

/// Bytes of the GPU in use, and descriptors of this process, where all ranks have met.
std::pair<std::size_t, std::size_t> in_use(Session& session) {
  session.bootstrap_barrier();
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total));
  const std::pair result(total - free, open_descriptors());
  session.bootstrap_barrier();
  return result;
}

// CASES H1.
TEST_P(Memory, OfCommunicatorsMadeAndDestroyedIsGivenBack) {
  on_ranks(1, [](Session& session) {
    Communicator world = session.communicator();
    const char* const full = std::getenv("TUTTI_FULL");
    const int rounds = full && std::string(full) == "1" ? 1000 : amount(60, 14);
    std::pair<std::size_t, std::size_t> after_ten;
    for (int round = 0; round < rounds; ++round) {
      if (round == 10) after_ten = in_use(session);
      Communicator comm = round % 2 ? session.communicator() : world.split(world.rank() % 2, 0);
      auto memory = comm.allocate<float>(2 * room_of(500, comm.size()));
      // The first call at once: nobody has to wait for a peer that is still being set up (CASES N4).
      run_trial(comm, memory.data(), room_of(500, comm.size()), {.collective = Collective::all_reduce, .count = 500});
    }
    const auto [bytes, descriptors] = in_use(session);
    // What was let go of last may wait for the next call that allocates.
    constexpr std::size_t kSlack = std::size_t{64} << 20;
    EXPECT_LE(bytes, after_ten.first + kSlack) << "rank " << world.rank() << ", bytes of the GPU";
    EXPECT_LE(descriptors, after_ten.second + 4) << "rank " << world.rank() << ", descriptors";
  });
}

TEST_P(Memory, OfRegistrationsMadeAndDestroyedIsGivenBack) {
  on_ranks(1, [](Session& session) {
    Communicator comm = session.communicator();
    std::pair<std::size_t, std::size_t> after_ten;
    for (int round = 0; round < amount(100, 14); ++round) {
      if (round == 10) after_ten = in_use(session);
      const Foreign foreign(session, std::size_t{4} << 20);
      const Registration registered = comm.register_memory(foreign.as<char>() + 128, std::size_t{3} << 20);
      run_trial(comm, foreign.as<float>() + 32, 3000, {.collective = Collective::all_reduce, .count = 2900});
    }
    const auto [bytes, descriptors] = in_use(session);
    EXPECT_LE(bytes, after_ten.first + (std::size_t{16} << 20)) << "rank " << comm.rank() << ", bytes of the GPU";
    EXPECT_LE(descriptors, after_ten.second + 4) << "rank " << comm.rank() << ", descriptors";
  });
}

}  // namespace
}  // namespace tutti
