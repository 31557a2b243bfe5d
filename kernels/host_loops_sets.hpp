// The compiled sets of kernels/host_loops.hpp, and the loop that all of them fall back to.
#pragma once
#include "kernels/host_loops.hpp"

namespace tutti::host {

#if defined(__x86_64__)
extern const Loops loops_v2;
extern const Loops loops_v3;
extern const Loops loops_v4;
#else
extern const Loops loops_generic;
#endif

/// Loops::reduce one element at a time, exactly as kernels/arithmetic.hpp says, for what no vector loop covers.
void reduce_by_element(char* const* dsts, int dst_count, const char* const* srcs, int src_count, std::size_t count,
                       const Reduction& reduction);

}  // namespace tutti::host
