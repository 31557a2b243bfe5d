#pragma once

#include <cuda_runtime_api.h>

#include "tests/emulator/runtime/operations.hpp"
#include "tests/emulator/runtime/residency.hpp"

namespace tutti::emulated {

class Device;
class Kernel;

/// A launch with its parameters copied from `arguments`, one pointer for each, as cudaLaunchKernel takes them. It is
/// checked against what the kernel and the device can do; throws Failure(cudaErrorInvalidConfiguration,
/// cudaErrorInvalidValue, cudaErrorLaunchOutOfResources).
KernelLaunch make_launch(const Kernel& kernel, dim3 grid, dim3 block, void** arguments, std::size_t dynamic_shared);

/// Throws Failure(cudaErrorCooperativeLaunchTooLarge) unless all blocks can run at once.
void check_cooperative(const KernelLaunch& launch);

/// What each block of such a launch takes of a multiprocessor.
BlockNeeds needs_of(const Kernel& kernel, int threads, std::size_t dynamic_shared);

/// Runs all blocks, as many at once as the device has room for, on the calling thread. Throws DeviceFault.
void run(const KernelLaunch& launch, Device& device);

}  // namespace tutti::emulated
