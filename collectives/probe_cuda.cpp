#include "collectives/probe_cuda.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/device_cuda.hpp"
#include "kernels/launch_cuda.hpp"

namespace tutti {

void prove_memory(Bootstrap& bootstrap, const Team& team, cudaStream_t stream, std::uint64_t* seen) {
  using detail::check_cuda;
  const int ranks = bootstrap.size(), me = bootstrap.rank();
  const auto step = [&](int which) {
    detail::together(bootstrap, [&] {
      check_cuda(launch_probe(which, team, seen, stream), "launching the probe");
      check_cuda(cudaStreamSynchronize(stream), "the probe of the peers' memory");
    });
  };
  step(0);  // write
  step(1);  // read what the peers wrote here, and what I wrote there
  std::string trouble;
  for (int r = 0; r < ranks; ++r) {
    if (r == me) continue;
    const std::uint64_t wanted_here = probe_word(r, me), wanted_there = probe_word(me, r);
    if (seen[r] != wanted_here || seen[ranks + r] != wanted_there)
      trouble = fmt::format(
          "the GPU of rank {} and that of rank {} do not read what they write into each other's memory (wrote {:#x} "
          "and "
          "{:#x}, read {:#x} and {:#x}), although the driver grants peer access; is an IOMMU or a virtual machine "
          "between them?",
          me, r, wanted_here, wanted_there, seen[r], seen[ranks + r]);
  }
  agree(bootstrap, ErrorCode::system, trouble);
  step(2);  // clear what the peers wrote here
  std::fill_n(seen, 2 * ranks, 0);
}

}  // namespace tutti
