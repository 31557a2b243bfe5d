#pragma once

#include <cuda_runtime_api.h>

namespace tutti::emulated {

/// What can be made to fail from outside, by the environment: see faults.cpp.
enum class FaultPoint { allocation, ipc_open, launch, copy };

/// Counts a call of this kind; throws Failure with the planted error if this is the one that must fail.
void count(FaultPoint point);

}  // namespace tutti::emulated
