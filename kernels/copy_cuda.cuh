// The copy word on the GPU: 16-byte accesses where the places allow, else the widest that they all allow.
#pragma once
#include "kernels/ptx.cuh"
#include "kernels/views.hpp"

namespace tutti::device {

/// One access of `kWidth` bytes.
template <int kWidth>
__device__ __forceinline__ auto load(const char* from) {
  if constexpr (kWidth == 16) return ptx::load_16(from);
  if constexpr (kWidth == 8) return ptx::load_8(from);
  if constexpr (kWidth == 4) return ptx::load_4(from);
  if constexpr (kWidth == 2) return ptx::load_2(from);
  if constexpr (kWidth == 1) return ptx::load_1(from);
}
template <int kWidth, class V>
__device__ __forceinline__ void store(char* to, V value) {
  if constexpr (kWidth == 16) ptx::store_16(to, value);
  if constexpr (kWidth == 8) ptx::store_8(to, value);
  if constexpr (kWidth == 4) ptx::store_4(to, value);
  if constexpr (kWidth == 2) ptx::store_2(to, value);
  if constexpr (kWidth == 1) ptx::store_1(to, value);
}

__device__ __forceinline__ std::size_t lane() { return threadIdx.x; }
__device__ __forceinline__ std::size_t lanes() { return blockDim.x; }
__device__ __forceinline__ std::size_t address(const void* place) { return reinterpret_cast<std::size_t>(place); }

/// Bits in which the addresses of the places differ from `from`'s: the low zeros are the alignment that all share.
__device__ __forceinline__ std::size_t differences(const View& places, const void* from) {
  std::size_t bits = 0;
#pragma unroll 1
  for (int i = 0; i < places.count; ++i) bits |= address(places.at(i)) ^ address(from);
  return bits;
}

/// `bytes` cut into `units` of a width, from the first one that is aligned to it, and the bytes before and after.
struct Cut {
  std::size_t head, units, loose;
};
__device__ __forceinline__ Cut cut(const void* from, std::size_t bytes, std::size_t width) {
  const std::size_t head = smaller(bytes, (0 - address(from)) & (width - 1));
  const std::size_t units = (bytes - head) / width;
  return {head, units, bytes - units * width};
}

/// Four accesses of a thread are in flight at once: 24 KiB for a block of 384 threads, 768 KiB for 32 blocks, about
/// what 370 GB/s of NVLink times 2 us of latency ask for.
template <int kWidth>
__device__ __forceinline__ void copy_units(View to, const char* from, std::size_t units) {
  constexpr int kDeep = 4;
  std::size_t i = lane();
  for (; i + (kDeep - 1) * lanes() < units; i += kDeep * lanes()) {
    decltype(load<kWidth>(from)) v[kDeep];
#pragma unroll
    for (int u = 0; u < kDeep; ++u) v[u] = load<kWidth>(from + (i + static_cast<std::size_t>(u) * lanes()) * kWidth);
    for (int place = 0; place < to.count; ++place) {
      char* const at = to.at(place);
#pragma unroll
      for (int u = 0; u < kDeep; ++u) store<kWidth>(at + (i + static_cast<std::size_t>(u) * lanes()) * kWidth, v[u]);
    }
  }
  for (; i < units; i += lanes()) {
    const auto v = load<kWidth>(from + i * kWidth);
    for (int place = 0; place < to.count; ++place) store<kWidth>(to.at(place) + i * kWidth, v);
  }
}

template <int kWidth>
__device__ __forceinline__ void copy_by(View to, const char* from, std::size_t bytes) {
  const Cut c = cut(from, bytes, kWidth);
  copy_units<kWidth>(to.plus(c.head), from + c.head, c.units);
  for (std::size_t i = lane(); i < c.loose; i += lanes()) {
    const std::size_t at = i < c.head ? i : i + c.units * kWidth;
    const auto v = load<1>(from + at);
    for (int place = 0; place < to.count; ++place) store<1>(to.at(place) + at, v);
  }
}

__device__ __forceinline__ void copy(View to, const char* from, std::size_t bytes) {
  const std::size_t differ = differences(to, from);
  if ((differ & 15) == 0) return copy_by<16>(to, from, bytes);
  if ((differ & 7) == 0) return copy_by<8>(to, from, bytes);
  if ((differ & 3) == 0) return copy_by<4>(to, from, bytes);
  if ((differ & 1) == 0) return copy_by<2>(to, from, bytes);
  copy_by<1>(to, from, bytes);
}

}  // namespace tutti::device
