// The reduce word on the GPU. Type and operator are dispatched once per call of the word.
//
// A link, not arithmetic, bounds these loops (a multiprocessor gets about 2 bytes of it per cycle), so they are written
// to be few and short: a kernel holds one copy of them per `reduce` that it spells out.
#pragma once
#include "kernels/arithmetic.hpp"
#include "kernels/copy_cuda.cuh"

namespace tutti::device {

/// What a loop computes: `op` over elements of T; kDivided: in 64 bits, and divided in the end.
template <class T, ReduceOp kOp, bool kDivided = false>
struct Loop {
  using Type = T;
  static constexpr ReduceOp op = kOp;
  static constexpr bool divided = kDivided;
};

/// The same with the bits of every element flipped before and after: ~ reverses the order of integers, so that their
/// maximum needs no loop of its own.
struct Finish {
  std::uint32_t divisor;
  std::uint32_t flip;  ///< 0 or ~0
};

__device__ __forceinline__ ptx::Word16 flipped(ptx::Word16 v, std::uint32_t bits) {
  return {v.x ^ bits, v.y ^ bits, v.z ^ bits, v.w ^ bits};
}
template <class V>
__device__ __forceinline__ V flipped(V v, std::uint32_t bits) {
  return static_cast<V>(v ^ (static_cast<std::uint64_t>(bits) << 32 | bits));
}

/// One unit of kWidth bytes of every source, in order, to every place. Three sources are in flight while one is added:
/// 48 bytes per thread, 576 KiB for 32 blocks of 384 threads, about what 370 GB/s times 1.5 us ask for.
template <class L, int kWidth>
__device__ __forceinline__ void reduce_unit(const View& to, const View& from, std::size_t at, Finish end) {
  using T = typename L::Type;
  using A = Accumulator<T, L::divided>;
  using Unit = decltype(load<kWidth>(nullptr));
  constexpr int kElements = kWidth / static_cast<int>(sizeof(T));
  constexpr bool kFlips = std::is_integral_v<T> && L::op == ReduceOp::min;

  const auto fetch = [&](int source, Unit& unit) {
    if (source < from.count) unit = load<kWidth>(from.at(source) + at);
  };
  const auto unpack = [&](Unit unit, T* elements) {
    if constexpr (kFlips) unit = flipped(unit, end.flip);
    memcpy(elements, &unit, kWidth);
  };
  T elements[kElements];
  A sums[kElements];
  Unit unit{}, next{}, second{}, third{};
  fetch(0, unit);
  fetch(1, next);
  fetch(2, second);
  fetch(3, third);
  unpack(unit, elements);
#pragma unroll
  for (int e = 0; e < kElements; ++e) sums[e] = widen<A>(elements[e]);
#pragma unroll 1
  for (int source = 1; source < from.count; ++source) {
    unit = next;
    next = second;
    second = third;
    fetch(source + 3, third);
    unpack(unit, elements);
#pragma unroll
    for (int e = 0; e < kElements; ++e) sums[e] = combine<L::op>(sums[e], widen<A>(elements[e]));
  }
  constexpr bool kDivides = L::op == ReduceOp::sum && (L::divided || std::is_floating_point_v<A>);
#pragma unroll
  for (int e = 0; e < kElements; ++e) elements[e] = finish<T>(sums[e], kDivides ? end.divisor : 1);
  memcpy(&unit, elements, kWidth);
  if constexpr (kFlips) unit = flipped(unit, end.flip);
#pragma unroll 1
  for (int place = 0; place < to.count; ++place) store<kWidth>(to.at(place) + at, unit);
}

/// 16 bytes at a time where all places allow it, else element by element, as integer averages always are: a division in
/// 64 bits is long. The places are aligned to their elements.
template <class L>
__device__ __forceinline__ void reduce_as(const View& to, const View& from, std::size_t n, Finish end) {
  constexpr int kWidth = static_cast<int>(sizeof(typename L::Type));
  Cut c{n * kWidth, 0, n * kWidth};
  if constexpr (!L::divided) {
    const char* const first = from.at(0);
    if (((differences(to, first) | differences(from, first)) & 15) == 0) c = cut(first, n * kWidth, 16);
#pragma unroll 1
    for (std::size_t i = lane(); i < c.units; i += lanes()) reduce_unit<L, 16>(to, from, c.head + i * 16, end);
  }
#pragma unroll 1
  for (std::size_t i = lane() * kWidth; i < c.loose; i += lanes() * kWidth)
    reduce_unit<L, kWidth>(to, from, i < c.head ? i : i + c.units * 16, end);
}

/// Calls f(Loop<...>{}, flip): one loop for each combination that computes something of its own. Sums and products that
/// wrap are the same for signed and unsigned integers.
template <ReduceOp op, class F>
__device__ __forceinline__ bool dispatch_floats(DataType type, F f) {
  switch (type) {
    case DataType::f32: f(Loop<float, op>{}, 0); return true;
    case DataType::f64: f(Loop<double, op>{}, 0); return true;
    case DataType::f16: f(Loop<f16, op>{}, 0); return true;
    case DataType::bf16: f(Loop<bf16, op>{}, 0); return true;
    default: return false;
  }
}
template <ReduceOp op, class F>
__device__ __forceinline__ void dispatch_wrapping(DataType type, F f) {
  switch (size_of(type)) {
    case 1: return f(Loop<std::uint8_t, op>{}, 0);
    case 4: return f(Loop<std::uint32_t, op>{}, 0);
    default: return f(Loop<std::uint64_t, op>{}, 0);
  }
}
template <ReduceOp op, bool kDivided, class F>
__device__ __forceinline__ void dispatch_signed(DataType type, std::uint32_t flip, F f) {
  switch (type) {
    case DataType::i8: return f(Loop<std::int8_t, op, kDivided>{}, flip);
    case DataType::u8: return f(Loop<std::uint8_t, op, kDivided>{}, flip);
    case DataType::i32: return f(Loop<std::int32_t, op, kDivided>{}, flip);
    case DataType::u32: return f(Loop<std::uint32_t, op, kDivided>{}, flip);
    case DataType::i64: return f(Loop<std::int64_t, op, kDivided>{}, flip);
    default: return f(Loop<std::uint64_t, op, kDivided>{}, flip);
  }
}
template <class F>
__device__ __forceinline__ void dispatch_loop(const Reduction& reduction, F f) {
  const DataType type = reduction.type;
  switch (reduction.op) {
    case ReduceOp::prod:
      if (!dispatch_floats<ReduceOp::prod>(type, f)) dispatch_wrapping<ReduceOp::prod>(type, f);
      return;
    case ReduceOp::min:
      if (dispatch_floats<ReduceOp::min>(type, f)) return;
      break;
    case ReduceOp::max:
      if (dispatch_floats<ReduceOp::max>(type, f)) return;
      break;
    default:
      if (dispatch_floats<ReduceOp::sum>(type, f)) return;
      if (reduction.divisor > 1) return dispatch_signed<ReduceOp::sum, true>(type, 0, f);
      return dispatch_wrapping<ReduceOp::sum>(type, f);
  }
  dispatch_signed<ReduceOp::min, false>(type, reduction.op == ReduceOp::max ? ~0u : 0u, f);
}

__device__ __forceinline__ void reduce(const View& to, const View& from, std::size_t n, const Reduction& reduction) {
  dispatch_loop(reduction, [&](auto loop, std::uint32_t flip) {
    reduce_as<decltype(loop)>(to, from, n, Finish{reduction.divisor, flip});
  });
}

}  // namespace tutti::device
