#pragma once

#include <cublas_v2.h>

namespace tutti::emulated {

/// What a program has set on a handle of cuBLAS. What is only about speed is remembered, to be told again.
struct Handle {
  int device = 0;  ///< that was current when it was made
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointers = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  cublasAtomicsMode_t atomics = CUBLAS_ATOMICS_NOT_ALLOWED;
};

/// Null for a handle that is none.
Handle* find_handle(cublasHandle_t handle);

}  // namespace tutti::emulated
