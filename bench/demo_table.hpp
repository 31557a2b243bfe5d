// A short bandwidth table: native against MPI, or on GPUs NCCL.
#pragma once
#include "bench/in_order.hpp"
#include "collectives/tutti.hpp"

namespace tutti::bench {

/// Races native, on both kinds of memory, against the other backend of its device, if that can be had, at a handful of
/// sizes, as tutti-bench does but shorter. True if no element was wrong. Collective; `session` is native, its ranks are
/// processes.
bool show_table(Session& session, InOrder& out);

}  // namespace tutti::bench
