// The instances of recursive doubling and halving-doubling.
#include "kernels/collective_cuda.cuh"

namespace tutti {

template Collective instance<Kernel::recursive_doubling_all_reduce>();
template Collective instance<Kernel::halving_doubling_all_reduce>();

}  // namespace tutti
