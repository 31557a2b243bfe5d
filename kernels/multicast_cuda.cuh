// The words of the switch on the GPU: multimem instructions, 16 bytes at a time.
//
// What a thread loads it stores itself, so that in place needs no barrier. Other words reach the same memory by other
// addresses: a fence between these proxies stands at both ends of each word.
#pragma once
#include "kernels/arithmetic.hpp"
#include "kernels/copy_cuda.cuh"

namespace tutti::device {

// Older GPUs have no multimem instructions; nor has their caller an address for them.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

inline constexpr int kSwitchDeep = 4;  ///< units that a thread has in flight

__device__ __forceinline__ ptx::Word16 word_of(double a, double b) {
  const std::uint64_t x = __double_as_longlong(a), y = __double_as_longlong(b);
  return {static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(x >> 32), static_cast<std::uint32_t>(y),
          static_cast<std::uint32_t>(y >> 32)};
}
__device__ __forceinline__ ptx::Word16 word_of(std::uint64_t x, std::uint64_t y) {
  return {static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(x >> 32), static_cast<std::uint32_t>(y),
          static_cast<std::uint32_t>(y >> 32)};
}

/// Calls f(load), where load(address) is the reduction of the unit there.
template <class F>
__device__ __forceinline__ void dispatch_switch(const Reduction& reduction, F f) {
  const auto by_4 = [&](auto load) {
    f([&](const char* at) { return ptx::Word16{load(at), load(at + 4), load(at + 8), load(at + 12)}; });
  };
  const auto by_8 = [&](auto load) { f([&](const char* at) { return word_of(load(at), load(at + 8)); }); };
  const bool smallest = reduction.op == ReduceOp::min, adds = reduction.op == ReduceOp::sum;
  switch (reduction.type) {
    case DataType::f32: return f([](const char* at) { return ptx::multimem_add_f32(at); });
    case DataType::f16: return f([](const char* at) { return ptx::multimem_add_f16(at); });
    case DataType::bf16: return f([](const char* at) { return ptx::multimem_add_bf16(at); });
    case DataType::f64: return by_8([](const char* at) { return ptx::multimem_add_f64(at); });
    case DataType::i32:
      if (adds) break;
      if (smallest) return by_4([](const char* at) { return ptx::multimem_min_s32(at); });
      return by_4([](const char* at) { return ptx::multimem_max_s32(at); });
    case DataType::u32:
      if (adds) break;
      if (smallest) return by_4([](const char* at) { return ptx::multimem_min_u32(at); });
      return by_4([](const char* at) { return ptx::multimem_max_u32(at); });
    case DataType::i64:
      if (adds) break;
      if (smallest) return by_8([](const char* at) { return ptx::multimem_min_s64(at); });
      return by_8([](const char* at) { return ptx::multimem_max_s64(at); });
    default:
      if (adds) break;
      if (smallest) return by_8([](const char* at) { return ptx::multimem_min_u64(at); });
      return by_8([](const char* at) { return ptx::multimem_max_u64(at); });
  }
  if (size_of(reduction.type) == 4) return by_4([](const char* at) { return ptx::multimem_add_u32(at); });
  by_8([](const char* at) { return ptx::multimem_add_u64(at); });
}

/// The unit with each element divided: of f32, or of f64.
__device__ __forceinline__ ptx::Word16 divided(ptx::Word16 unit, const Reduction& reduction) {
  const auto each = [&](auto& elements) {
    memcpy(elements, &unit, 16);
#pragma unroll
    for (auto& element : elements)
      element = finish<std::remove_reference_t<decltype(element)>>(element, reduction.divisor);
    memcpy(&unit, elements, 16);
  };
  float floats[4];
  double doubles[2];
  if (reduction.type == DataType::f32)
    each(floats);
  else
    each(doubles);
  return unit;
}

/// `bytes`, whole units, of what the switch reduces at `from`; each goes to store(offset, unit).
template <class Store>
__device__ __forceinline__ void reduce_by_switch(const char* from, std::size_t bytes, const Reduction& reduction,
                                                 Store store) {
  const std::size_t step = lanes() * 16;
  ptx::fence_alias();
#pragma unroll 1
  for (std::size_t first = lane() * 16; first < bytes; first += kSwitchDeep * step) {
    ptx::Word16 row[kSwitchDeep];
    dispatch_switch(reduction, [&](auto load) {
#pragma unroll
      for (int i = 0; i < kSwitchDeep; ++i)
        if (const std::size_t at = first + i * step; at < bytes) row[i] = load(from + at);
    });
#pragma unroll
    for (int i = 0; i < kSwitchDeep; ++i)
      if (const std::size_t at = first + i * step; at < bytes)
        store(at, reduction.divisor > 1 ? divided(row[i], reduction) : row[i]);
  }
  ptx::fence_alias();
}

/// A unit at a place that is aligned to `kWidth` bytes.
template <int kWidth>
__device__ __forceinline__ ptx::Word16 load_unit(const char* from) {
  if constexpr (kWidth == 16) {
    return load<16>(from);
  } else if constexpr (kWidth == 4) {
    return {load<4>(from), load<4>(from + 4), load<4>(from + 8), load<4>(from + 12)};
  } else {
    std::uint32_t words[4] = {};
#pragma unroll
    for (int byte = 0; byte < 16; ++byte) words[byte / 4] |= std::uint32_t{load<1>(from + byte)} << byte % 4 * 8;
    return {words[0], words[1], words[2], words[3]};
  }
}
/// To a place that is aligned to elements of 2 bytes, or more.
__device__ __forceinline__ void store_unit(char* to, ptx::Word16 unit) {
  if ((address(to) & 15) == 0) return store<16>(to, unit);
  const std::uint32_t words[4] = {unit.x, unit.y, unit.z, unit.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if ((address(to) & 3) == 0) {
      store<4>(to + 4 * i, words[i]);
    } else {
      store<2>(to + 4 * i, static_cast<std::uint16_t>(words[i]));
      store<2>(to + 4 * i + 2, static_cast<std::uint16_t>(words[i] >> 16));
    }
  }
}

template <int kWidth>
__device__ __forceinline__ void copy_by_switch(char* to, const char* from, std::size_t bytes) {
  constexpr int kDeep = kWidth == 16 ? kSwitchDeep : 1;
  const std::size_t step = lanes() * 16;
#pragma unroll 1
  for (std::size_t first = lane() * 16; first < bytes; first += kDeep * step) {
    ptx::Word16 row[kDeep];
#pragma unroll
    for (int i = 0; i < kDeep; ++i)
      if (const std::size_t at = first + i * step; at < bytes) row[i] = load_unit<kWidth>(from + at);
#pragma unroll
    for (int i = 0; i < kDeep; ++i)
      if (const std::size_t at = first + i * step; at < bytes) ptx::multimem_store_16(to + at, row[i]);
  }
}
/// `bytes`, whole units, to the place of every rank.
__device__ __forceinline__ void copy_by_switch(char* to, const char* from, std::size_t bytes) {
  ptx::fence_alias();
  if ((address(from) & 15) == 0)
    copy_by_switch<16>(to, from, bytes);
  else if ((address(from) & 3) == 0)
    copy_by_switch<4>(to, from, bytes);
  else
    copy_by_switch<1>(to, from, bytes);
  ptx::fence_alias();
}

__device__ __forceinline__ void store_to_switch(char* to, ptx::Word16 unit) { ptx::multimem_store_16(to, unit); }

#else

template <class Store>
__device__ __forceinline__ void reduce_by_switch(const char*, std::size_t, const Reduction&, Store) {}
__device__ __forceinline__ void copy_by_switch(char*, const char*, std::size_t) {}
__device__ __forceinline__ void store_unit(char*, ptx::Word16) {}
__device__ __forceinline__ void store_to_switch(char*, ptx::Word16) {}

#endif

}  // namespace tutti::device
