#pragma once

#include <cublas_v2.h>

#include <cstddef>

namespace tutti::emulated {

/// One of the matrices, column by column as BLAS has them: `leading` elements from column to column, `stride` from one
/// matrix of a batch to the next.
struct Matrix {
  void* data = nullptr;  ///< as the program sees it
  cudaDataType type = CUDA_R_32F;
  int leading = 0;
  long long stride = 0;
};

/// C = alpha * op(A) * op(B) + beta * C, for each of a batch.
struct Product {
  const char* call = nullptr;  ///< for messages
  bool a_transposed = false, b_transposed = false;
  int rows = 0, columns = 0, inner = 0;
  Matrix a, b, c;
  bool in_double = false;  ///< how it is computed, and what alpha and beta are; else in f32
  double alpha = 0, beta = 0;
  const void *alpha_at = nullptr, *beta_at = nullptr;  ///< in the device's memory: read when it runs
  int batch = 1;
};

/// Computes it, on the calling thread. Ends the program with one line if memory that it needs is not there.
void compute(const Product& product);

}  // namespace tutti::emulated
