// The collectives on GPUs, one each for ranks that are threads or processes. Skipped, with the reason, where there are
// none.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "collectives/tutti.hpp"
#include "kernels/half.hpp"

using namespace tutti;

namespace {

void check(cudaError_t result) {
  if (result != cudaSuccess) throw std::runtime_error(cudaGetErrorString(result));
}

/// The GPUs, or why there are none.
int gpus(std::string* why) {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  *why = std::string("no CUDA device: ") + (result == cudaSuccess ? "none is visible" : cudaGetErrorString(result));
  cudaGetLastError();
  return result == cudaSuccess ? count : 0;
}

constexpr int kProcesses = 0;

/// The parameter: how many threads, to each of which a GPU falls, or kProcesses.
class Gpu : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    std::string why;
    count_ = gpus(&why);
    if (count_ == 0) GTEST_SKIP() << why;
  }
  void TearDown() override { unsetenv("TUTTI_DEVICE"); }

  /// Runs `body` on every rank; skipped if there are fewer than `least` ranks with a GPU each.
  void on_ranks(int least, const std::function<void(Session&)>& body, const SessionOptions& options = {}) {
    if (GetParam() == kProcesses) {
      setenv("TUTTI_DEVICE", "auto", 1);
      Session session(options);
      if (!session.on_gpu()) {
        EXPECT_LT(count_, session.size()) << "there is a GPU for each rank, but the session does not use them";
        GTEST_SKIP() << session.size() << " ranks, " << count_ << " CUDA devices";
      }
      if (session.size() < least) GTEST_SKIP() << session.size() << " ranks; this needs " << least;
      return body(session);
    }
    setenv("TUTTI_DEVICE", "gpu", 1);
    if (GetParam() < least) GTEST_SKIP() << GetParam() << " ranks; this needs " << least;
    if (count_ < GetParam()) GTEST_SKIP() << GetParam() << " ranks, " << count_ << " CUDA devices";
    run_threads(GetParam(), body, options);
  }

  int count_ = 0;
};

std::string name_of_job(const testing::TestParamInfo<int>& info) {
  return info.param == kProcesses ? "mpi" : std::to_string(info.param);
}
// Two instances, so that a filter picks the one that fits how the program was started.
INSTANTIATE_TEST_SUITE_P(Threads, Gpu, testing::Values(1, 2, 3, 5, 8), name_of_job);
INSTANTIATE_TEST_SUITE_P(Processes, Gpu, testing::Values(kProcesses), name_of_job);

template <class T>
T number(int value) {
  if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
    return from_float<T>(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}
template <class T>
std::string text(T value) {
  if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
    return std::to_string(to_float(value));
  } else {
    return std::to_string(value);
  }
}

/// Small enough for sums over eight ranks to be exact in every type.
int input(int rank, std::size_t i) { return static_cast<int>((static_cast<std::size_t>(rank) * 5 + i * 3) % 11); }
int sum_of(int ranks, std::size_t i) {
  int sum = 0;
  for (int r = 0; r < ranks; ++r) sum += input(r, i);
  return sum;
}

template <class T>
void fill(T* to, int rank, std::size_t n, std::size_t first = 0) {
  std::vector<T> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = number<T>(input(rank, first + i));
  check(cudaMemcpy(to, values.data(), n * sizeof(T), cudaMemcpyDefault));
}
template <class T, class Expected>
void expect(const T* at, std::size_t n, int rank, const std::string& what, Expected expected) {
  std::vector<T> values(n);
  check(cudaMemcpy(values.data(), at, n * sizeof(T), cudaMemcpyDefault));
  for (std::size_t i = 0; i < n; ++i) {
    const T wanted = number<T>(expected(i));
    if (std::memcmp(&values[i], &wanted, sizeof(T)) == 0) continue;
    ADD_FAILURE() << what << ", rank " << rank << ", index " << i << ": expected " << text(wanted) << ", got "
                  << text(values[i]);
    return;
  }
}

template <class T>
void check_all_reduce(Communicator& comm, std::size_t count, bool mapped, bool in_place, std::size_t shift,
                      Algorithm algorithm) {
  const int ranks = comm.size(), rank = comm.rank();
  auto segment = comm.allocate<T>(2 * (count + 64));
  T* memory = segment.data();
  T* foreign = nullptr;
  if (!mapped) {
    check(cudaMalloc(reinterpret_cast<void**>(&foreign), 2 * (count + 64) * sizeof(T)));
    memory = foreign;
  }
  T* const in = memory + shift;
  T* const out = in_place ? in : memory + count + 64;
  fill(in, rank, count);
  comm.all_reduce(in, out, count, ReduceOp::sum, {.algorithm = algorithm});
  expect(out, count, rank,
         std::string("all_reduce ") + name_of(data_type_v<T>) + " by " + name_of(algorithm) +
             (mapped ? ", mapped" : ", foreign") + (in_place ? ", in place" : ""),
         [&](std::size_t i) { return sum_of(ranks, i); });
  if (foreign) check(cudaFree(foreign));
}

}  // namespace

TEST_P(Gpu, EveryRankEndsWithTheSumByEveryAlgorithmAndType) {
  on_ranks(1, [](Session& session) {
    ASSERT_TRUE(session.on_gpu());
    Communicator comm = session.communicator();
    for (const Algorithm algorithm : {Algorithm::automatic, Algorithm::ring, Algorithm::one_shot, Algorithm::two_shot})
      for (const std::size_t count : {0, 1, 7, 1000, 100003, 3000000})
        for (const bool mapped : {true, false})
          for (const bool in_place : {true, false})
            for (const std::size_t shift : {0, 1}) {
              check_all_reduce<float>(comm, count, mapped, in_place, shift, algorithm);
              check_all_reduce<f16>(comm, count, mapped, in_place, shift, algorithm);
              check_all_reduce<std::int8_t>(comm, count, mapped, in_place, shift, algorithm);
              check_all_reduce<double>(comm, count, mapped, in_place, shift, algorithm);
            }
  });
}

TEST_P(Gpu, ScatteredSumsAndGatheredChunksStandWhereTheyShould) {
  on_ranks(1, [](Session& session) {
    Communicator comm = session.communicator();
    const auto ranks = static_cast<std::size_t>(comm.size());
    const int rank = comm.rank();
    for (const std::size_t count : {1, 1001, 400000})
      for (const Algorithm algorithm : {Algorithm::direct, Algorithm::ring}) {
        auto whole = comm.allocate<float>(count * ranks);
        auto part = comm.allocate<float>(count);
        fill(whole.data(), rank, count * ranks);
        comm.reduce_scatter(whole.data(), part.data(), count, ReduceOp::sum, {.algorithm = algorithm});
        expect(part.data(), count, rank, "reduce_scatter",
               [&](std::size_t i) { return sum_of(comm.size(), static_cast<std::size_t>(rank) * count + i); });
        comm.all_gather(part.data(), whole.data(), count, {.algorithm = algorithm});
        expect(whole.data(), count * ranks, rank, "all_gather", [&](std::size_t i) { return sum_of(comm.size(), i); });
        comm.broadcast(whole.data(), count, comm.size() - 1);
        comm.barrier();
      }
  });
}

TEST_P(Gpu, MessagesOfAGroupArriveInOrder) {
  on_ranks(2, [](Session& session) {
    Communicator comm = session.communicator();
    const int n = comm.size(), rank = comm.rank(), next = (rank + 1) % n, prev = (rank + n - 1) % n;
    for (const std::size_t count : {1, 500, 1000000}) {
      auto buffer = comm.allocate<int>(4 * count);
      fill(buffer.data(), rank, 2 * count);
      comm.group()
          .send(buffer.data(), count, next)
          .send(buffer.data() + count, count, next)
          .recv(buffer.data() + 2 * count, count, prev)
          .recv(buffer.data() + 3 * count, count, prev)
          .run();
      expect(buffer.data() + 2 * count, 2 * count, rank, "group", [&](std::size_t i) { return input(prev, i); });
    }
  });
}

TEST_P(Gpu, PacketTagsMayRepeat) {
  on_ranks(1, [](Session& session) {
    Communicator comm = session.communicator({.first_packet_use = (std::uint64_t{1} << 32) - 3});
    for (int call = 0; call < 6; ++call) check_all_reduce<float>(comm, 100, true, call % 2, 0, Algorithm::one_shot);
  });
}

TEST_P(Gpu, CallsWithAStreamReturnBeforeTheyEndAndKeepItsOrder) {
  on_ranks(1, [](Session& session) {
    Communicator comm = session.communicator();
    constexpr std::size_t count = 1 << 20;
    auto buffer = comm.allocate<float>(count);
    fill(buffer.data(), 0, count);
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int call = 0; call < 3; ++call)
      comm.all_reduce(buffer.data(), buffer.data(), count, ReduceOp::max, {.stream = stream});
    check(cudaStreamSynchronize(stream));
    expect(buffer.data(), count, comm.rank(), "three calls", [&](std::size_t i) { return input(0, i); });
    check(cudaStreamDestroy(stream));
  });
}

TEST_P(Gpu, AMismatchedCallIsAnErrorThatNamesBothSides) {
  on_ranks(2, [](Session& session) {
    Communicator comm = session.communicator();
    auto buffer = comm.allocate<float>(1 << 20);
    try {
      comm.all_reduce(buffer.data(), buffer.data(), (1u << 20) - static_cast<unsigned>(comm.rank()), ReduceOp::sum);
      ADD_FAILURE() << "rank " << comm.rank() << ": no error";
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::mismatch || error.code() == ErrorCode::peer_failed) << error.what();
    }
    EXPECT_THROW(comm.barrier(), Error) << "rank " << comm.rank() << ": the communicator works again";
  });
}

TEST_P(Gpu, AMissingRankEndsTheWaitInTime) {
  on_ranks(
      2,
      [](Session& session) {
        Communicator comm = session.communicator();
        if (comm.rank() == 1) return session.bootstrap_barrier();
        try {
          comm.barrier();
          ADD_FAILURE() << "no error";
        } catch (const Error& error) {
          EXPECT_TRUE(error.code() == ErrorCode::timeout || (comm.size() > 2 && error.code() == ErrorCode::peer_failed))
              << error.what();
          if (error.code() == ErrorCode::timeout) {
            EXPECT_NE(std::string(error.what()).find("rank 1"), std::string::npos) << error.what();
          }
        }
        session.bootstrap_barrier();
      },
      {.timeout_s = 2});
}

TEST_P(Gpu, AllocatingIsRefusedAndDestroyingPutOffWhileACallIsInFlight) {
  on_ranks(2, [](Session& session) {
    Communicator comm = session.communicator();
    constexpr std::size_t count = 1 << 20;
    const int rank = comm.rank();
    auto buffer = comm.allocate<int>(count);
    auto other = comm.allocate<int>(count);
    fill(buffer.data(), rank, count);
    {
      Handle sent;
      if (rank == 0) sent = comm.isend(buffer.data(), count, 1);
      other = {};
      try {
        comm.allocate<int>(1);
        ADD_FAILURE() << "rank " << rank << ": no error";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << "rank " << rank << ": " << error.what();
      }
      EXPECT_THROW(session.communicator(), Error) << "rank " << rank;
      if (rank == 1) comm.recv(buffer.data(), count, 0);
    }
    if (rank == 1) expect(buffer.data(), count, rank, "recv", [](std::size_t i) { return input(0, i); });
    session.bootstrap_barrier();
    EXPECT_NO_THROW(comm.allocate<int>(1)) << "rank " << rank;
    comm.barrier();
  });
}

TEST_P(Gpu, AnAlgorithmThatDoesNotExistIsRefusedByEveryWorld) {
  on_ranks(1, [](Session& session) {
    Communicator comm = session.communicator();
    auto buffer = comm.allocate<float>(100);
    EXPECT_THROW(comm.all_reduce(buffer.data(), buffer.data(), 100, ReduceOp::sum, {.algorithm = Algorithm::direct}),
                 Error)
        << "rank " << comm.rank() << " of " << comm.size();
    comm.barrier();
  });
}
