// The instance of the direct reduce-scatter.
#include "kernels/collective_cuda.cuh"

namespace tutti {

template Collective instance<Kernel::direct_reduce_scatter>();

}  // namespace tutti
