// Reductions that no vector loop covers, one element at a time.
#include "kernels/arithmetic.hpp"
#include "kernels/host_loops_sets.hpp"

namespace tutti::host {
namespace {

template <class T, class A, ReduceOp op>
void reduce_elements(char* const* dsts, int dst_count, const char* const* srcs, int src_count, std::size_t count,
                     std::uint32_t divisor) {
  const auto element = [&](int source, std::size_t i) {
    T value;
    std::memcpy(&value, srcs[source] + i * sizeof(T), sizeof value);
    return widen<A>(value);
  };
  for (std::size_t i = 0; i < count; ++i) {
    A sum = element(0, i);
    for (int s = 1; s < src_count; ++s) sum = combine<op>(sum, element(s, i));
    const T value = finish<T>(sum, divisor);
    for (int d = 0; d < dst_count; ++d) std::memcpy(dsts[d] + i * sizeof(T), &value, sizeof value);
  }
}

}  // namespace

void reduce_by_element(char* const* dsts, int dst_count, const char* const* srcs, int src_count, std::size_t count,
                       const Reduction& reduction) {
  dispatch(reduction.type, reduction.op, [&](auto tag, auto op) {
    using T = typename decltype(tag)::type;
    if (reduction.divisor > 1) {
      reduce_elements<T, Accumulator<T, true>, op()>(dsts, dst_count, srcs, src_count, count, reduction.divisor);
    } else {
      reduce_elements<T, Accumulator<T>, op()>(dsts, dst_count, srcs, src_count, count, 1);
    }
  });
}

}  // namespace tutti::host
