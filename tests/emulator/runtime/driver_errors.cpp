#include <cuda_runtime_api.h>

#include "tests/emulator/runtime/driver.hpp"

namespace tutti::emulated {
namespace {

struct Name {
  CUresult code;
  const char* name;
};

/// Of the codes that the stand-in's driver entry points return.
constexpr Name kNames[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"},
    {CUDA_ERROR_MAP_FAILED, "CUDA_ERROR_MAP_FAILED"},
    {CUDA_ERROR_OPERATING_SYSTEM, "CUDA_ERROR_OPERATING_SYSTEM"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE"},
    {CUDA_ERROR_ILLEGAL_STATE, "CUDA_ERROR_ILLEGAL_STATE"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED"},
    {CUDA_ERROR_NOT_PERMITTED, "CUDA_ERROR_NOT_PERMITTED"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED"},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN"},
};

const Name* name_of(CUresult code) {
  for (const Name& each : kNames)
    if (each.code == code) return &each;
  return nullptr;
}

}  // namespace

/// From 100 on the numbers are the same, and below it for a few.
CUresult driver_code(cudaError_t code) {
  if (code >= 100 || code == cudaErrorInvalidValue || code == cudaErrorMemoryAllocation ||
      code == cudaErrorInitializationError)
    return static_cast<CUresult>(code);
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace tutti::emulated

using namespace tutti::emulated;

CUresult cuGetErrorName(CUresult code, const char** name) {
  const Name* const found = name_of(code);
  if (!name) return CUDA_ERROR_INVALID_VALUE;
  *name = found ? found->name : nullptr;
  return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult code, const char** text) {
  if (!text) return CUDA_ERROR_INVALID_VALUE;
  *text = name_of(code) ? cudaGetErrorString(static_cast<cudaError_t>(code)) : nullptr;
  return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
