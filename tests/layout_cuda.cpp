// Prints where the kernels' parameters hold what tests/ptx_static.py follows.
#include <cstddef>
#include <cstdio>

#include "kernels/failure_cuda.hpp"
#include "kernels/kernels.hpp"

using namespace tutti;

int main() {
  constexpr std::size_t layout = offsetof(Team, layout);
  std::printf("{\"team\": %zu, \"reports\": %zu, \"flags\": %zu, \"entries\": %zu, \"board\": %zu, \"packets\": %zu,\n",
              sizeof(Team), sizeof(Reports), layout + offsetof(Layout, flags), layout + offsetof(Layout, entries),
              layout + offsetof(Layout, board), layout + offsetof(Layout, packets));
  std::printf(" \"kernels\": [");
  for (int k = 0; k < kKernels; ++k) std::printf("%s\"%s\"", k ? ", " : "", name_of(static_cast<Kernel>(k)));
  std::printf("]}\n");
}
