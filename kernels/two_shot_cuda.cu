// The instance of the two-shot all-reduce.
#include "kernels/collective_cuda.cuh"

namespace tutti {

template Collective instance<Kernel::two_shot_all_reduce>();

}  // namespace tutti
