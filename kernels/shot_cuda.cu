// The direct all-reduces.
#include "kernels/collective_cuda.cuh"

namespace tutti {

Collective shot_collective(Kernel kernel) {
  switch (kernel) {
    case Kernel::two_shot_all_reduce: return collective<Kernel::two_shot_all_reduce>;
    case Kernel::one_shot_all_reduce: return collective<Kernel::one_shot_all_reduce>;
    default: return nullptr;
  }
}

}  // namespace tutti
