// The lecture's second program: how fast are all_reduce and reduce_scatter, and in which bytes?
#pragma once
#include <cstddef>

#include "bench/in_order.hpp"
#include "collectives/tutti.hpp"

namespace tutti::bench {

/// Bytes that show_lecture_benchmark allocates on all ranks together.
double lecture_bytes(int ranks, std::size_t elements);

/// Times the collectives on `elements` f32 per rank, the lecture's way (a warm-up, a barrier, the clock around one
/// call), and prints the lecture's figure beside nccl-tests' algbw and busbw. True if the sums are right. Collective.
bool show_lecture_benchmark(Session& session, std::size_t elements, InOrder& out);

}  // namespace tutti::bench
