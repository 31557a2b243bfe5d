#pragma once

#include <cuda.h>

#include <new>

#include "tests/emulator/runtime/errors.hpp"

namespace tutti::emulated {

/// The driver's code for what the runtime calls by another.
CUresult driver_code(cudaError_t code);

/// Runs the body of an entry point of the driver: its Failure becomes the result.
template <class Body>
CUresult driver_entry(Body body) {
  try {
    body();
    return CUDA_SUCCESS;
  } catch (const Failure& failure) {
    return driver_code(failure.code());
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

}  // namespace tutti::emulated
