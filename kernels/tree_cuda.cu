// The instances of the trees.
#include "kernels/collective_cuda.cuh"

namespace tutti {

template Collective instance<Kernel::tree_all_reduce>();
template Collective instance<Kernel::tree_broadcast>();
template Collective instance<Kernel::tree_reduce>();
template Collective instance<Kernel::tree_gather>();
template Collective instance<Kernel::tree_scatter>();

}  // namespace tutti
