// Products of the stand-in for cuBLAS against the sums that define them.
#include <cublas_v2.h>
#include <gtest/gtest.h>

#include <vector>

#include "kernels/half.hpp"
#include "tests/emulator/runtime/test_kernels.hpp"

namespace tutti::emulated::test {
namespace {

constexpr int kM = 3, kN = 4, kK = 5;

/// Device memory with these values.
template <class T>
class Values {
 public:
  explicit Values(const std::vector<T>& values) : n_(values.size()) {
    check(cudaMalloc(&at_, n_ * sizeof(T)));
    check(cudaMemcpy(at_, values.data(), n_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~Values() { cudaFree(at_); }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;
  T* get() const { return static_cast<T*>(at_); }
  std::vector<T> read() const {
    std::vector<T> values(n_);
    check(cudaDeviceSynchronize());
    check(cudaMemcpy(values.data(), at_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  void* at_ = nullptr;
  std::size_t n_;
};

class Blas : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cublasCreate(&handle_), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cublasSetStream(handle_, stream_.get()), CUBLAS_STATUS_SUCCESS);
  }
  void TearDown() override { EXPECT_EQ(cublasDestroy(handle_), CUBLAS_STATUS_SUCCESS); }

  OwnedStream stream_;
  cublasHandle_t handle_ = nullptr;
};

/// Small whole numbers, so that every sum is exact.
template <class T>
std::vector<T> numbers(int n, int seed) {
  std::vector<T> values;
  for (int i = 0; i < n; ++i) values.push_back(static_cast<T>((i * 7 + seed) % 11 - 5));
  return values;
}

/// Column by column: alpha * op(A) op(B) + beta * C, A and B with leading dimensions of 7.
template <class T>
std::vector<T> expected(const std::vector<T>& a, bool a_t, const std::vector<T>& b, bool b_t, std::vector<T> c, T alpha,
                        T beta) {
  const auto at = [](const std::vector<T>& m, bool t, int row, int column) {
    return m[static_cast<std::size_t>(t ? row * 7 + column : column * 7 + row)];
  };
  for (int column = 0; column < kN; ++column)
    for (int row = 0; row < kM; ++row) {
      T sum = 0;
      for (int k = 0; k < kK; ++k) sum += at(a, a_t, row, k) * at(b, b_t, k, column);
      T& to = c[static_cast<std::size_t>(column * 6 + row)];
      to = alpha * sum + beta * to;
    }
  return c;
}

cublasOperation_t form(bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; }

cublasStatus_t gemm(cublasHandle_t handle, bool a_t, bool b_t, const float* alpha, const float* a, const float* b,
                    const float* beta, float* c) {
  return cublasSgemm(handle, form(a_t), form(b_t), kM, kN, kK, alpha, a, 7, b, 7, beta, c, 6);
}
cublasStatus_t gemm(cublasHandle_t handle, bool a_t, bool b_t, const double* alpha, const double* a, const double* b,
                    const double* beta, double* c) {
  return cublasDgemm(handle, form(a_t), form(b_t), kM, kN, kK, alpha, a, 7, b, 7, beta, c, 6);
}

template <class T>
void expect_products(cublasHandle_t handle) {
  const T alpha = 2, beta = -3;
  for (const bool a_t : {false, true})
    for (const bool b_t : {false, true}) {
      const std::vector<T> a = numbers<T>(35, 1), b = numbers<T>(35, 4), c = numbers<T>(24, 8);
      const Values<T> da(a), db(b), dc(c);
      ASSERT_EQ(gemm(handle, a_t, b_t, &alpha, da.get(), db.get(), &beta, dc.get()), CUBLAS_STATUS_SUCCESS);
      EXPECT_EQ(dc.read(), expected(a, a_t, b, b_t, c, alpha, beta)) << a_t << b_t;
    }
}

TEST_F(Blas, ProductsAreTheSumsThatDefineThemForEveryForm) {
  expect_products<float>(handle_);
  expect_products<double>(handle_);
}

TEST_F(Blas, ProductsOf16BitTypesAreSummedInF32AndRoundedOnce) {
  const std::vector<float> a = numbers<float>(35, 1), b = numbers<float>(35, 4), c = numbers<float>(24, 8);
  const auto halves = [](const std::vector<float>& from) {
    std::vector<std::uint16_t> to;
    for (const float value : from) to.push_back(from_float<f16>(value).bits);
    return to;
  };
  const Values<std::uint16_t> da(halves(a)), db(halves(b)), dc(halves(c));
  const float alpha = 1, beta = 1;
  ASSERT_EQ(cublasGemmEx(handle_, CUBLAS_OP_N, CUBLAS_OP_T, kM, kN, kK, &alpha, da.get(), CUDA_R_16F, 7, db.get(),
                         CUDA_R_16F, 7, &beta, dc.get(), CUDA_R_16F, 6, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(dc.read(), halves(expected(a, false, b, true, c, alpha, beta)));
}

TEST_F(Blas, ABatchIsAsManyProducts) {
  const std::vector<float> a = numbers<float>(80, 1), b = numbers<float>(80, 4), c(60, 0);
  const Values<float> da(a), db(b), dc(c);
  const float alpha = 1, beta = 0;
  ASSERT_EQ(cublasSgemmStridedBatched(handle_, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, kK, &alpha, da.get(), 7, 40, db.get(),
                                      7, 40, &beta, dc.get(), 6, 30, 2),
            CUBLAS_STATUS_SUCCESS);
  const std::vector<float> got = dc.read();
  for (int index = 0; index < 2; ++index) {
    const auto part = [&](const std::vector<float>& from, int stride) {
      return std::vector<float>(from.begin() + index * stride, from.begin() + (index + 1) * stride);
    };
    EXPECT_EQ(part(got, 30), expected(part(a, 40), false, part(b, 40), false, part(c, 30), alpha, beta)) << index;
  }
}

TEST_F(Blas, ProductsKeepTheOrderOfTheirStreamAndAreCaptured) {
  const std::vector<float> a = numbers<float>(35, 1), b = numbers<float>(35, 4), c(24, 1);
  const Values<float> da(a), db(b), dc(c), scalars({2, 1});
  ASSERT_EQ(cublasSetPointerMode(handle_, CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal));
  ASSERT_EQ(gemm(handle_, false, false, scalars.get(), da.get(), db.get(), scalars.get() + 1, dc.get()),
            CUBLAS_STATUS_SUCCESS);
  check(cudaStreamEndCapture(stream_.get(), &graph));
  cudaGraphExec_t exec = nullptr;
  check(cudaGraphInstantiate(&exec, graph, 0));
  check(cudaGraphDestroy(graph));
  EXPECT_EQ(dc.read(), c) << "not launched yet";
  std::vector<float> wanted = c;
  for (int launch = 0; launch < 2; ++launch) {
    check(cudaGraphLaunch(exec, stream_.get()));
    wanted = expected(a, false, b, false, wanted, 2.0f, 1.0f);
  }
  EXPECT_EQ(dc.read(), wanted);
  check(cudaGraphExecDestroy(exec));
}

TEST_F(Blas, WhatMakesNoSenseIsRefused) {
  const Values<float> memory(std::vector<float>(100, 0));
  const float one = 1;
  EXPECT_EQ(cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, 5, 5, 5, &one, memory.get(), 4, memory.get(), 5, &one,
                        memory.get(), 5),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSgemm(nullptr, CUBLAS_OP_N, CUBLAS_OP_N, 5, 5, 5, &one, memory.get(), 5, memory.get(), 5, &one,
                        memory.get(), 5),
            CUBLAS_STATUS_NOT_INITIALIZED);
}

TEST(BlasDeathTest, WhatItDoesNotHaveEndsTheProgramByName) {
  EXPECT_DEATH(cublasSscal(nullptr, 1, nullptr, nullptr, 1), "does not know cublasSscal_v2");
}

}  // namespace
}  // namespace tutti::emulated::test
