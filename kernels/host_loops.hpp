// The byte movers and reducers under the CPU block, compiled once per instruction set and chosen at start.
#pragma once
#include <cstddef>

#include "kernels/types.hpp"

namespace tutti::host {

/// How stores go to memory: through the cache, or around it (pays above the last-level cache, and into staging slots
/// that another core reads; the caller orders them with `fence_streams` before it publishes anything).
enum class Stores { cached, streaming };

struct Loops {
  const char* name;  ///< "x86-64-v4", ...
  /// Copies `bytes` from `src` to each of `dsts` in one pass. Ranges are equal or disjoint. Any alignment.
  void (*copy)(char* const* dsts, int dst_count, const char* src, std::size_t bytes, Stores stores);
  /// dsts[*][i] = reduction over srcs[0..src_count)[i], in the order of srcs, for i < count elements. Each destination
  /// is equal to a source or disjoint from all of them. Any alignment; 1 <= src_count <= 64. Integers are divided with
  /// 64 bits.
  void (*reduce)(char* const* dsts, int dst_count, const char* const* srcs, int src_count, std::size_t count,
                 const Reduction& reduction, Stores stores);
};

/// The best of the compiled sets that this CPU runs, or the one named by TUTTI_ISA (v2, v3, v4). Constant after start;
/// a TUTTI_ISA that names no set of this CPU costs one line on stderr.
const Loops& loops();

/// The set with this name (v2, v3, v4; generic on other machines), or null if this CPU or this build lacks it.
const Loops* loops_named(const char* name);

/// Orders earlier streaming stores before later stores of this thread.
void fence_streams();

}  // namespace tutti::host
