// The instances of the rings.
#include "kernels/collective_cuda.cuh"

namespace tutti {

template Collective instance<Kernel::ring_all_reduce>();
template Collective instance<Kernel::ring_reduce_scatter>();
template Collective instance<Kernel::ring_all_gather>();
template Collective instance<Kernel::ring_broadcast>();
template Collective instance<Kernel::ring_reduce>();

}  // namespace tutti
