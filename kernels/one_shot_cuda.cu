// The instances of the one-shot all-reduces: direct, and by packets.
#include "kernels/collective_cuda.cuh"

namespace tutti {

template Collective instance<Kernel::one_shot_all_reduce>();
template Collective instance<Kernel::packets_all_reduce>();

}  // namespace tutti
