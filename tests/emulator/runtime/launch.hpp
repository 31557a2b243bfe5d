#pragma once

#include <cuda_runtime_api.h>

#include "tests/emulator/runtime/operations.hpp"

namespace tutti::emulated {

class Device;
class Kernel;

/// A launch with its parameters copied from `arguments` (one pointer for each, as cudaLaunchKernel takes them), checked
/// against what the kernel and the device can do; throws Failure(cudaErrorInvalidConfiguration,
/// cudaErrorInvalidValue, cudaErrorLaunchOutOfResources, cudaErrorCooperativeLaunchTooLarge).
KernelLaunch make_launch(const Kernel& kernel, dim3 grid, dim3 block, void** arguments, std::size_t dynamic_shared);
void check_launch(const KernelLaunch& launch, const Device& device);

/// Runs all blocks, as many at once as the device has room for, on the calling thread. Throws DeviceFault.
void run(const KernelLaunch& launch, Device& device);

}  // namespace tutti::emulated
