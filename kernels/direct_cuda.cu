// The instances of the other direct collectives.
#include "kernels/collective_cuda.cuh"

namespace tutti {

template Collective instance<Kernel::direct_reduce_scatter>();
template Collective instance<Kernel::direct_all_gather>();
template Collective instance<Kernel::direct_broadcast>();
template Collective instance<Kernel::barrier>();

}  // namespace tutti
