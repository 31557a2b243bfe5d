// Starts a kernel so that the answer is about this start alone: cudaGetLastError, after <<< >>>, may tell of an error
// that the program left behind before, be it only that a stream was not ready yet.
#pragma once
#include <cuda_runtime_api.h>

#include <type_traits>

namespace tutti {

/// The arguments have the types of the kernel's parameters. They are copied before this returns.
template <class... Parameters, class... Arguments>
cudaError_t start(void (*kernel)(Parameters...), dim3 grid, unsigned threads, void* stream,
                  const Arguments&... arguments) {
  static_assert((std::is_same_v<std::remove_cv_t<Parameters>, Arguments> && ...));
  void* given[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, dim3(threads), given, 0,
                          static_cast<cudaStream_t>(stream));
}

}  // namespace tutti
