#include "tests/emulator/cublas/handle.hpp"

#include <map>
#include <memory>
#include <mutex>

namespace tutti::emulated {
namespace {

struct Handles {
  std::mutex mutex;
  std::map<cublasHandle_t, std::unique_ptr<Handle>> all;
};
Handles& handles() {
  static auto* const only = new Handles;
  return *only;
}

}  // namespace

Handle* find_handle(cublasHandle_t handle) {
  Handles& live = handles();
  const std::lock_guard lock(live.mutex);
  const auto found = live.all.find(handle);
  return found == live.all.end() ? nullptr : found->second.get();
}

}  // namespace tutti::emulated

using namespace tutti::emulated;

namespace {

/// Does something with a handle.
template <class F>
cublasStatus_t with(cublasHandle_t handle, F f) {
  Handle* const found = find_handle(handle);
  if (!found) return CUBLAS_STATUS_NOT_INITIALIZED;
  f(*found);
  return CUBLAS_STATUS_SUCCESS;
}

/// The same for what it tells.
template <class T, class F>
cublasStatus_t tell(cublasHandle_t handle, T* to, F f) {
  if (!to) return CUBLAS_STATUS_INVALID_VALUE;
  return with(handle, [&](const Handle& found) { *to = f(found); });
}

}  // namespace

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  if (!handle) return CUBLAS_STATUS_INVALID_VALUE;
  auto made = std::make_unique<Handle>();
  if (cudaGetDevice(&made->device) != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  Handles& live = handles();
  const std::lock_guard lock(live.mutex);
  *handle = reinterpret_cast<cublasHandle_t>(made.get());
  live.all[*handle] = std::move(made);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  // As the real one does: what it has queued ends first.
  Handle* const found = find_handle(handle);
  if (!found) return CUBLAS_STATUS_NOT_INITIALIZED;
  cudaStreamSynchronize(found->stream);
  Handles& live = handles();
  const std::lock_guard lock(live.mutex);
  live.all.erase(handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int* version) {
  return tell(handle, version, [](const Handle&) { return CUBLAS_VERSION; });
}

size_t cublasGetCudartVersion() { return CUDART_VERSION; }

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void*, size_t) {
  return with(handle, [](const Handle&) {});  // none is needed
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  return with(handle, [&](Handle& found) { found.stream = stream; });
}
cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  return tell(handle, stream, [](const Handle& found) { return found.stream; });
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  if (mode != CUBLAS_POINTER_MODE_HOST && mode != CUBLAS_POINTER_MODE_DEVICE) return CUBLAS_STATUS_INVALID_VALUE;
  return with(handle, [&](Handle& found) { found.pointers = mode; });
}
cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode) {
  return tell(handle, mode, [](const Handle& found) { return found.pointers; });
}

cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode) {
  return with(handle, [&](Handle& found) { found.atomics = mode; });
}
cublasStatus_t cublasGetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t* mode) {
  return tell(handle, mode, [](const Handle& found) { return found.atomics; });
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  return with(handle, [&](Handle& found) { found.math = mode; });
}
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  return tell(handle, mode, [](const Handle& found) { return found.math; });
}

const char* cublasGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED: return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH: return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_MAPPING_ERROR: return "CUBLAS_STATUS_MAPPING_ERROR";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR: return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_LICENSE_ERROR: return "CUBLAS_STATUS_LICENSE_ERROR";
  }
  return "unknown status";
}
const char* cublasGetStatusString(cublasStatus_t status) { return cublasGetStatusName(status); }
