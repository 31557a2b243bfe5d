// cuBLAS, opened when a trainer is on a GPU: a program that never is needs no cuBLAS, nor its hundreds of megabytes.
//
// The few entries used are declared here as cuBLAS's second interface (2011) fixes them, so that its header is not
// needed either.
#pragma once
#include <cuda_runtime_api.h>

namespace tutti::trainers {

struct CublasEntries {
  int (*create)(void** handle);
  int (*destroy)(void* handle);
  int (*set_stream)(void* handle, cudaStream_t stream);
  int (*set_math_mode)(void* handle, int mode);
  int (*sgemm)(void* handle, int a_is, int b_is, int m, int n, int k, const float* alpha, const float* a, int lda,
               const float* b, int ldb, const float* beta, float* c, int ldc);
  int (*dgemm)(void* handle, int a_is, int b_is, int m, int n, int k, const double* alpha, const double* a, int lda,
               const double* b, int ldb, const double* beta, double* c, int ldc);
};

/// The library's entries; it stays open. Throws ErrorCode::unsupported, saying which names were tried.
const CublasEntries& cublas();

/// One handle: products on one stream of the current device, in full precision.
class Cublas {
 public:
  explicit Cublas(cudaStream_t stream);
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;
  ~Cublas();

  /// Column-major C[m][n] = op(A) * op(B) + beta * C, as BLAS has it.
  void multiply(bool a_transposed, bool b_transposed, int m, int n, int k, const float* a, int lda, const float* b,
                int ldb, float beta, float* c, int ldc);
  void multiply(bool a_transposed, bool b_transposed, int m, int n, int k, const double* a, int lda, const double* b,
                int ldb, double beta, double* c, int ldc);

 private:
  const CublasEntries& entries_;
  void* handle_ = nullptr;
};

}  // namespace tutti::trainers
