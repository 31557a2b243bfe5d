// The instance of the one-shot all-reduce.
#include "kernels/collective_cuda.cuh"

namespace tutti {

template Collective instance<Kernel::one_shot_all_reduce>();

}  // namespace tutti
