// Direct reduce-scatter, and all-reduce by packets.
#include "kernels/collective_cuda.cuh"

namespace tutti {

Collective direct_collective(Kernel kernel) {
  switch (kernel) {
    case Kernel::direct_reduce_scatter: return collective<Kernel::direct_reduce_scatter>;
    case Kernel::packets_all_reduce: return collective<Kernel::packets_all_reduce>;
    default: return nullptr;
  }
}

}  // namespace tutti
