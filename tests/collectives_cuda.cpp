// The collectives on GPUs, ranks as threads, one GPU each. Skipped, with the reason, where there is none.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
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

class Gpu : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    count_ = gpus(&why);
    if (count_ == 0) GTEST_SKIP() << why;
    setenv("TUTTI_DEVICE", "gpu", 1);
  }
  void TearDown() override { unsetenv("TUTTI_DEVICE"); }
  int count_ = 0;
};

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

TEST_F(Gpu, EveryRankEndsWithTheSumByEveryAlgorithmAndType) {
  for (int ranks = 1; ranks <= std::min(count_, 8); ++ranks)
    run_threads(ranks, [](Session& session) {
      ASSERT_TRUE(session.on_gpu());
      Communicator comm = session.communicator();
      for (const Algorithm algorithm :
           {Algorithm::automatic, Algorithm::ring, Algorithm::one_shot, Algorithm::two_shot})
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

TEST_F(Gpu, ScatteredSumsAndGatheredChunksStandWhereTheyShould) {
  run_threads(std::min(count_, 8), [](Session& session) {
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

TEST_F(Gpu, MessagesOfAGroupArriveInOrder) {
  if (count_ < 2) GTEST_SKIP() << "one CUDA device; a message needs two";
  run_threads(std::min(count_, 8), [](Session& session) {
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

TEST_F(Gpu, PacketTagsMayRepeat) {
  run_threads(std::min(count_, 8), [](Session& session) {
    Communicator comm = session.communicator({.first_packet_use = (std::uint64_t{1} << 32) - 3});
    for (int call = 0; call < 6; ++call) check_all_reduce<float>(comm, 100, true, call % 2, 0, Algorithm::one_shot);
  });
}

TEST_F(Gpu, CallsWithAStreamReturnBeforeTheyEndAndKeepItsOrder) {
  run_threads(std::min(count_, 8), [](Session& session) {
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

TEST_F(Gpu, AMismatchedCallIsAnErrorThatNamesBothSides) {
  if (count_ < 2) GTEST_SKIP() << "one CUDA device; a mismatch needs two ranks";
  run_threads(2, [](Session& session) {
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

TEST_F(Gpu, AMissingRankEndsTheWaitInTime) {
  if (count_ < 2) GTEST_SKIP() << "one CUDA device; a missing rank needs two";
  run_threads(2,
              [](Session& session) {
                Communicator comm = session.communicator();
                if (comm.rank() == 1) return session.bootstrap_barrier();
                try {
                  comm.barrier();
                  ADD_FAILURE() << "no error";
                } catch (const Error& error) {
                  EXPECT_EQ(error.code(), ErrorCode::timeout) << error.what();
                  EXPECT_NE(std::string(error.what()).find("rank 1"), std::string::npos) << error.what();
                }
                session.bootstrap_barrier();
              },
              {.timeout_s = 2});
}

TEST(WithoutAGpu, ASessionThatMustHaveOneSaysWhatIsMissing) {
  std::string why;
  if (gpus(&why) > 0) GTEST_SKIP() << "there is a CUDA device";
  setenv("TUTTI_DEVICE", "gpu", 1);
  try {
    run_threads(2, [](Session&) { ADD_FAILURE() << "a session came up"; });
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string(error.what()).find("TUTTI_DEVICE=cpu"), std::string::npos) << error.what();
  }
  unsetenv("TUTTI_DEVICE");
}

TEST(WithoutAGpu, AnAutomaticSessionRunsOnTheCpu) {
  std::string why;
  if (gpus(&why) > 0) GTEST_SKIP() << "there is a CUDA device";
  setenv("TUTTI_DEVICE", "auto", 1);
  run_threads(2, [](Session& session) {
    EXPECT_FALSE(session.on_gpu()) << "rank " << session.rank();
    Communicator comm = session.communicator();
    float value = 1;
    comm.all_reduce(&value, &value, 1, ReduceOp::sum);
    EXPECT_EQ(value, 2) << "rank " << session.rank();
  });
  unsetenv("TUTTI_DEVICE");
}

TEST(WithoutAGpu, AnUnknownDeviceIsRefused) {
  setenv("TUTTI_DEVICE", "tpu", 1);
  EXPECT_THROW(run_threads(2, [](Session&) {}), Error);
  unsetenv("TUTTI_DEVICE");
}
