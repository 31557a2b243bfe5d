// The products. Each is checked and given to its stream when it is called, and computed when its turn comes.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "tests/emulator/cublas/handle.hpp"
#include "tests/emulator/cublas/product.hpp"

namespace {

using namespace tutti::emulated;

void run_once(void* product) {
  const std::unique_ptr<Product> owned(static_cast<Product*>(product));
  compute(*owned);
}
void run_again(void* product) { compute(*static_cast<const Product*>(product)); }
void forget(void* product) { delete static_cast<Product*>(product); }

/// A captured product lives as long as the graphs that it is in.
bool keep_with_graph(cudaGraph_t graph, Product* product) {
  cudaUserObject_t object = nullptr;
  if (cudaUserObjectCreate(&object, product, forget, 1, cudaUserObjectNoDestructorSync) != cudaSuccess) {
    delete product;
    return false;
  }
  return cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove) == cudaSuccess;
}

cublasStatus_t enqueue(cudaStream_t stream, const Product& product) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaGraph_t graph = nullptr;
  if (cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, nullptr, nullptr, nullptr) != cudaSuccess)
    return CUBLAS_STATUS_EXECUTION_FAILED;
  auto* const made = new Product(product);
  if (status == cudaStreamCaptureStatusActive) {
    const bool captured = keep_with_graph(graph, made) && cudaLaunchHostFunc(stream, run_again, made) == cudaSuccess;
    return captured ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
  }
  if (cudaLaunchHostFunc(stream, run_once, made) == cudaSuccess) return CUBLAS_STATUS_SUCCESS;
  delete made;
  return CUBLAS_STATUS_EXECUTION_FAILED;
}

bool is_known(cublasOperation_t operation) {
  return operation == CUBLAS_OP_N || operation == CUBLAS_OP_T || operation == CUBLAS_OP_C;
}

/// A, B and C are in place; the rest of the product is what all calls have in common.
cublasStatus_t multiply(const char* call, cublasHandle_t handle, cublasOperation_t a_is, cublasOperation_t b_is, int m,
                        int n, int k, const void* alpha, const void* beta, Product product) {
  const Handle* const on = find_handle(handle);
  if (!on) return CUBLAS_STATUS_NOT_INITIALIZED;
  product.call = call;
  product.a_transposed = a_is != CUBLAS_OP_N;
  product.b_transposed = b_is != CUBLAS_OP_N;
  product.rows = m;
  product.columns = n;
  product.inner = k;
  const bool sizes = is_known(a_is) && is_known(b_is) && m >= 0 && n >= 0 && k >= 0 && product.batch >= 0;
  if (!sizes || product.a.leading < std::max(1, product.a_transposed ? k : m) ||
      product.b.leading < std::max(1, product.b_transposed ? n : k) || product.c.leading < std::max(1, m) || !alpha ||
      !beta)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (on->pointers == CUBLAS_POINTER_MODE_DEVICE) {
    product.alpha_at = alpha;
    product.beta_at = beta;
  } else if (product.in_double) {
    product.alpha = *static_cast<const double*>(alpha);
    product.beta = *static_cast<const double*>(beta);
  } else {
    product.alpha = *static_cast<const float*>(alpha);
    product.beta = *static_cast<const float*>(beta);
  }
  return enqueue(on->stream, product);
}

Matrix matrix(const void* data, cudaDataType type, int leading, long long stride = 0) {
  return {const_cast<void*>(data), type, leading, stride};
}

/// How it is computed, in_double set; CUBLAS_STATUS_NOT_SUPPORTED for what is not known.
cublasStatus_t choose_arithmetic(Product& product, cublasComputeType_t compute) {
  switch (compute) {
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32: product.in_double = false; break;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC: product.in_double = true; break;
    default: return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  for (const Matrix* each : {&product.a, &product.b, &product.c}) {
    const bool is_double = each->type == CUDA_R_64F;
    const bool is_real = is_double || each->type == CUDA_R_32F || each->type == CUDA_R_16F || each->type == CUDA_R_16BF;
    if (!is_real || is_double != product.in_double) return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  return product.a.type == product.b.type ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

}  // namespace

cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t a_is, cublasOperation_t b_is, int m, int n,
                              int k, const float* alpha, const float* a, int lda, const float* b, int ldb,
                              const float* beta, float* c, int ldc) {
  Product product;
  product.a = matrix(a, CUDA_R_32F, lda);
  product.b = matrix(b, CUDA_R_32F, ldb);
  product.c = matrix(c, CUDA_R_32F, ldc);
  return multiply("cublasSgemm", handle, a_is, b_is, m, n, k, alpha, beta, product);
}

cublasStatus_t cublasDgemm_v2(cublasHandle_t handle, cublasOperation_t a_is, cublasOperation_t b_is, int m, int n,
                              int k, const double* alpha, const double* a, int lda, const double* b, int ldb,
                              const double* beta, double* c, int ldc) {
  Product product;
  product.in_double = true;
  product.a = matrix(a, CUDA_R_64F, lda);
  product.b = matrix(b, CUDA_R_64F, ldb);
  product.c = matrix(c, CUDA_R_64F, ldc);
  return multiply("cublasDgemm", handle, a_is, b_is, m, n, k, alpha, beta, product);
}

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t a_is, cublasOperation_t b_is, int m,
                                         int n, int k, const float* alpha, const float* a, int lda, long long a_stride,
                                         const float* b, int ldb, long long b_stride, const float* beta, float* c,
                                         int ldc, long long c_stride, int batch) {
  Product product;
  product.a = matrix(a, CUDA_R_32F, lda, a_stride);
  product.b = matrix(b, CUDA_R_32F, ldb, b_stride);
  product.c = matrix(c, CUDA_R_32F, ldc, c_stride);
  product.batch = batch;
  return multiply("cublasSgemmStridedBatched", handle, a_is, b_is, m, n, k, alpha, beta, product);
}

cublasStatus_t cublasDgemmStridedBatched(cublasHandle_t handle, cublasOperation_t a_is, cublasOperation_t b_is, int m,
                                         int n, int k, const double* alpha, const double* a, int lda,
                                         long long a_stride, const double* b, int ldb, long long b_stride,
                                         const double* beta, double* c, int ldc, long long c_stride, int batch) {
  Product product;
  product.in_double = true;
  product.a = matrix(a, CUDA_R_64F, lda, a_stride);
  product.b = matrix(b, CUDA_R_64F, ldb, b_stride);
  product.c = matrix(c, CUDA_R_64F, ldc, c_stride);
  product.batch = batch;
  return multiply("cublasDgemmStridedBatched", handle, a_is, b_is, m, n, k, alpha, beta, product);
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t a_is, cublasOperation_t b_is, int m,
                                          int n, int k, const void* alpha, const void* a, cudaDataType a_type, int lda,
                                          long long a_stride, const void* b, cudaDataType b_type, int ldb,
                                          long long b_stride, const void* beta, void* c, cudaDataType c_type, int ldc,
                                          long long c_stride, int batch, cublasComputeType_t compute,
                                          cublasGemmAlgo_t) {
  Product product;
  product.a = matrix(a, a_type, lda, a_stride);
  product.b = matrix(b, b_type, ldb, b_stride);
  product.c = matrix(c, c_type, ldc, c_stride);
  product.batch = batch;
  const cublasStatus_t known = choose_arithmetic(product, compute);
  if (known != CUBLAS_STATUS_SUCCESS) return known;
  return multiply("cublasGemmEx", handle, a_is, b_is, m, n, k, alpha, beta, product);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t a_is, cublasOperation_t b_is, int m, int n, int k,
                            const void* alpha, const void* a, cudaDataType a_type, int lda, const void* b,
                            cudaDataType b_type, int ldb, const void* beta, void* c, cudaDataType c_type, int ldc,
                            cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {
  return cublasGemmStridedBatchedEx(handle, a_is, b_is, m, n, k, alpha, a, a_type, lda, 0, b, b_type, ldb, 0, beta, c,
                                    c_type, ldc, 0, 1, compute, algorithm);
}
