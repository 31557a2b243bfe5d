// The instances of the kernels that go through a switch.
#include "kernels/collective_cuda.cuh"

namespace tutti {

template Collective instance<Kernel::multicast_all_reduce>();
template Collective instance<Kernel::multicast_reduce_scatter>();
template Collective instance<Kernel::multicast_all_gather>();

}  // namespace tutti
