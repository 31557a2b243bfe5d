// The instance of the direct reduce.
#include "kernels/collective_cuda.cuh"

namespace tutti {

template Collective instance<Kernel::direct_reduce>();

}  // namespace tutti
