// The instances of the collectives by packets.
#include "kernels/collective_cuda.cuh"

namespace tutti {

template Collective instance<Kernel::packets_all_reduce>();
template Collective instance<Kernel::packets_reduce_scatter>();
template Collective instance<Kernel::packets_all_gather>();
template Collective instance<Kernel::packets_broadcast>();
template Collective instance<Kernel::packets_reduce>();
template Collective instance<Kernel::packets_gather>();
template Collective instance<Kernel::packets_scatter>();
template Collective instance<Kernel::packets_all_to_all>();

}  // namespace tutti
