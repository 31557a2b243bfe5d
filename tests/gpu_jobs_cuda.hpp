// Jobs whose ranks run on GPUs, and memory for their tests. Skipped, with the reason, where there is no GPU.
//
// Ranks that are threads may share a GPU and a process. To free memory then waits for the kernels of all of them, one
// of which may wait for the rank that frees: so the tests make and free memory only where all ranks have met.
#pragma once
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/tutti.hpp"
#include "kernels/half.hpp"

namespace tutti::test {

inline void check(cudaError_t result) {
  if (result != cudaSuccess) throw std::runtime_error(cudaGetErrorString(result));
}

/// The GPUs, or why there are none.
inline int gpus(std::string* why) {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  *why = std::string("no CUDA device: ") + (result == cudaSuccess ? "none is visible" : cudaGetErrorString(result));
  cudaGetLastError();
  return result == cudaSuccess ? count : 0;
}

/// Are the GPUs emulated on the CPU (tests/emulator)?
inline bool emulated() {
  static const bool is = [] {
    cudaDeviceProp properties{};
    const bool known = cudaGetDeviceProperties(&properties, 0) == cudaSuccess;
    cudaGetLastError();
    return known && std::string_view(properties.name).starts_with("tutti emulated GPU");
  }();
  return is;
}

/// How many elements or rounds a test takes: fewer where GPUs are emulated, which is thousands of times slower. Both
/// are chosen so that every path of the kernels is taken.
template <class T>
T amount(T on_a_gpu, T if_emulated) {
  return emulated() ? if_emulated : on_a_gpu;
}

inline constexpr int kProcesses = 0;

/// The parameter: how many threads, who share GPUs if there are fewer, or kProcesses.
class Gpu : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    std::string why;
    count_ = gpus(&why);
    if (count_ == 0) GTEST_SKIP() << why;
    setenv("TUTTI_DEVICE", "gpu", 1);
    setenv("TUTTI_TIMEOUT", "30", 0);
  }
  void TearDown() override { unsetenv("TUTTI_DEVICE"); }

  /// Runs `body` on every rank; skipped if there are fewer than `least` ranks.
  void on_ranks(int least, const std::function<void(Session&)>& body, const SessionOptions& options = {}) {
    if (GetParam() != kProcesses && GetParam() < least) GTEST_SKIP() << GetParam() << " ranks; this needs " << least;
    const auto checked = [&](Session& session) {
      ASSERT_TRUE(session.on_gpu()) << "rank " << session.rank();
      body(session);
    };
    if (GetParam() != kProcesses) return run_threads(GetParam(), checked, options);
    Session session(options);
    if (session.size() < least) GTEST_SKIP() << session.size() << " ranks; this needs " << least;
    checked(session);
  }

  int count_ = 0;
};

inline std::string name_of_job(const testing::TestParamInfo<int>& info) {
  return info.param == kProcesses ? "mpi" : std::to_string(info.param);
}

// Two instances, so that a filter picks the one that fits how the program was started.
#define TUTTI_ON_GPUS(suite, ...)                                                            \
  INSTANTIATE_TEST_SUITE_P(Threads, suite, testing::Values(__VA_ARGS__), test::name_of_job); \
  INSTANTIATE_TEST_SUITE_P(Processes, suite, testing::Values(test::kProcesses), test::name_of_job)

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
inline int input(int rank, std::size_t i) {
  return static_cast<int>((static_cast<std::size_t>(rank) * 5 + i * 3) % 11);
}
inline int sum_of(int ranks, std::size_t i) {
  int sum = 0;
  for (int r = 0; r < ranks; ++r) sum += input(r, i);
  return sum;
}

/// to[i] = a number that `rank` and first + i make.
template <class T>
void fill(Communicator& comm, T* to, int rank, std::size_t n, std::size_t first = 0) {
  std::vector<T> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = number<T>(input(rank, first + i));
  comm.copy(to, values.data(), n * sizeof(T));
}
template <class T, class Expected>
void expect(Communicator& comm, const T* at, std::size_t n, const std::string& what, Expected expected) {
  std::vector<T> values(n);
  comm.copy(values.data(), at, n * sizeof(T));
  for (std::size_t i = 0; i < n; ++i) {
    const T wanted = number<T>(expected(i));
    if (std::memcmp(&values[i], &wanted, sizeof(T)) == 0) continue;
    ADD_FAILURE() << what << ", rank " << comm.rank() << " of " << comm.size() << ", index " << i << ": expected "
                  << text(wanted) << ", got " << text(values[i]);
    return;
  }
}

/// Memory of cudaMalloc, which tutti knows nothing of. Made and freed where all ranks of the session have met.
class Foreign {
 public:
  Foreign(Session& session, std::size_t bytes) : session_(session) {
    session_.bootstrap_barrier();
    check(cudaMalloc(&memory_, bytes + 1));
    session_.bootstrap_barrier();
  }
  Foreign(const Foreign&) = delete;
  Foreign& operator=(const Foreign&) = delete;
  ~Foreign() {
    try {
      session_.bootstrap_barrier();
      cudaFree(memory_);
      session_.bootstrap_barrier();
    } catch (const Error&) {  // another rank has failed, whose test says why
    }
  }
  template <class T>
  T* as() const {
    return static_cast<T*>(memory_);
  }

 private:
  Session& session_;
  void* memory_ = nullptr;
};

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { cudaStreamDestroy(stream_); }
  operator cudaStream_t() const { return stream_; }
  void wait() const { check(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// What `call` throws, or "no error".
template <class F>
std::string error_of(F&& call, ErrorCode* code = nullptr) {
  try {
    call();
  } catch (const Error& error) {
    if (code) *code = error.code();
    return error.what();
  }
  return "no error";
}

inline bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace tutti::test
