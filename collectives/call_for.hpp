// What a kernel is asked to do for a request, on any executor.
#pragma once
#include "collectives/choose.hpp"
#include "collectives/segment_table.hpp"

namespace tutti {

/// The ranks of a communicator, as its requests are turned into calls.
struct Caller {
  int rank = 0;
  int ranks = 1;
  const SegmentTable& segments;
  RankSet everyone;  ///< the session's ranks of all of them
};

/// The call of `request` by `plan` on `blocks` blocks. Its number is left 0.
Call call_for(const Request& request, const Plan& plan, int blocks, const Caller& caller);

/// The buffers of `request`, and where they stand, in a call of the same kind.
void set_buffers(Call& call, const Request& request, Kernel kernel, const Caller& caller);

}  // namespace tutti
