// The GPU's instances of the kernels, spread over a few files so that they compile at the same time.
#pragma once
#include "kernels/kernels.hpp"
#include "kernels/launch_cuda.hpp"

// One block per multiprocessor is enough, so a thread may have 168 registers.
#define TUTTI_LAUNCH_BOUNDS __launch_bounds__(kCudaThreads, 1)

namespace tutti {

using Collective = void (*)(Team, Call, Reports);

/// The instance of a kernel; defined in collective_cuda.cuh.
template <Kernel kernel>
Collective instance();

/// The kernels that run groups of messages.
inline constexpr int kMessageKernels = 2;
const void* message_kernel(int index);

/// The kernel that launch_probe starts.
const void* probe_kernel();

}  // namespace tutti
