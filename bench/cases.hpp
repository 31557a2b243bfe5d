// From the arguments of tutti-bench to what is measured.
#pragma once
#include <vector>

#include "bench/arguments.hpp"

namespace tutti::bench {

/// The cases of `operation` that `arguments` ask for at `ranks` ranks, one per row of the table, in place or not as
/// said. Sizes that come to the same after trimming are one case; sizes too small for one element per rank are left
/// out; each root of a rooted collective is a case of its own.
std::vector<Case> cases_of(const BenchArguments& arguments, Operation operation, int ranks, bool in_place);

/// Bytes of the input and of the output buffer that a rank needs for all cases.
struct BufferBytes {
  std::size_t in = 0, out = 0;
};
BufferBytes buffers_for(const BenchArguments& arguments, int ranks);

/// What can be checked only when the number of ranks is known: root, algorithms, sizes, memory (`free` bytes of it),
/// the JSON file. Throws ArgumentError.
void check_bench(const BenchArguments& arguments, int ranks, std::size_t free);

}  // namespace tutti::bench
