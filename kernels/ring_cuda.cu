// The rings that reduce.
#include "kernels/collective_cuda.cuh"

namespace tutti {

Collective ring_collective(Kernel kernel) {
  switch (kernel) {
    case Kernel::ring_all_reduce: return collective<Kernel::ring_all_reduce>;
    case Kernel::ring_reduce_scatter: return collective<Kernel::ring_reduce_scatter>;
    default: return nullptr;
  }
}

}  // namespace tutti
