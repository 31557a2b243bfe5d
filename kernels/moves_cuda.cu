// The instances of the other kernels that reduce nothing: they compile fast.
#include "kernels/collective_cuda.cuh"

namespace tutti {

template Collective instance<Kernel::direct_all_gather>();
template Collective instance<Kernel::direct_broadcast>();
template Collective instance<Kernel::direct_gather>();
template Collective instance<Kernel::direct_scatter>();
template Collective instance<Kernel::direct_all_to_all>();
template Collective instance<Kernel::bruck_all_gather>();
template Collective instance<Kernel::pairwise_all_to_all>();
template Collective instance<Kernel::barrier>();
template Collective instance<Kernel::dissemination_barrier>();

}  // namespace tutti
