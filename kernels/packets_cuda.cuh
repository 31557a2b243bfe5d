// Packets on the GPU: each 8-byte word carries 4 bytes of the message and the tag of its use, so that a reader needs no
// flag: the word is there or it is not. All accesses to packets, the wiping ones too, are strong at system scope.
//
// A thread puts, polls and sums the same unit of the message: 4 bytes, or one element of 8. It so reads its part of the
// own input before it overwrites it in place. Every use sends at least one word to each peer, even of an empty message:
// a use in which a peer is not heard from would break the rule of two halves (see packets.hpp).
//
// That rule needs the reads of use u to come before the peers' writes of use u + 2. Within a kernel nothing orders
// them: the loads are relaxed, and a store that depends on one is no release. The ends of kernels do. This rank's loads
// of use u come before all of its kernel of use u + 1, the next of its stream or behind its event. A peer that has seen
// a word of that kernel puts use u + 2 in a later kernel of its own.
#pragma once
#include "kernels/reduce_cuda.cuh"

namespace tutti::device {

/// Bytes [at, at + 4) of a message of `bytes`; zeros past its end. `from` is aligned to its elements, not to 4.
__device__ __forceinline__ std::uint32_t load_part(const char* from, std::size_t at, std::size_t bytes) {
  const char* const begin = from + at;
  if (at + 4 <= bytes && (address(begin) & 3) == 0) return ptx::load_4(begin);
  std::uint32_t word = 0;
#pragma unroll
  for (unsigned i = 0; i < 4; ++i)
    if (at + i < bytes) word |= static_cast<std::uint32_t>(ptx::load_1(begin + i)) << (8 * i);
  return word;
}

/// A message's words as they lie in a packet region.
struct Words {
  std::size_t bytes;  ///< of the message
  std::size_t width;  ///< of a unit: 4 or 8
  __device__ __forceinline__ Words(std::size_t n, std::size_t element)
      : bytes(n * element), width(element < 8 ? 4 : 8) {}
  __device__ __forceinline__ std::size_t units() const { return bytes == 0 ? 1 : (bytes + width - 1) / width; }
};

__device__ __forceinline__ std::uint64_t packet(std::uint32_t data, std::uint32_t tag) {
  return data | static_cast<std::uint64_t>(tag) << 32;
}
__device__ __forceinline__ std::uint32_t tag_of(std::uint64_t packet) {
  return static_cast<std::uint32_t>(packet >> 32);
}

/// out = reduction of the units of all ranks, in rank order. `packets_of(rank)` says where a rank's words arrive,
/// `again(rank)` whether to poll on. Returns -1, or the rank for which it said no; nothing more is then written.
template <class L, class PacketsOf, class Again>
__device__ __forceinline__ int reduce_words(char* out, const char* in, std::size_t n, Finish end, int ranks, int me,
                                            std::uint32_t tag, PacketsOf packets_of, Again again) {
  using T = typename L::Type;
  using A = Accumulator<T, L::divided>;
  constexpr int kWords = sizeof(T) == 8 ? 2 : 1;
  constexpr int kElements = kWords * 4 / static_cast<int>(sizeof(T));
  constexpr int kAtOnce = 4;  // ranks whose words are loaded together
  constexpr bool kFlips = std::is_integral_v<T> && L::op == ReduceOp::min;
  constexpr bool kDivides = L::op == ReduceOp::sum && (L::divided || std::is_floating_point_v<A>);
  const Words message(n, sizeof(T));
#pragma unroll 1
  for (std::size_t unit = lane(); unit < message.units(); unit += lanes()) {
    const std::size_t at = unit * message.width;
    std::uint64_t own[kWords];
#pragma unroll
    for (int w = 0; w < kWords; ++w)
      own[w] = packet(load_part(in, at + static_cast<std::size_t>(w) * 4, message.bytes), tag);
    const auto word_of = [&](int rank, int w) {  // pairs with store_packet at that rank
      return ptx::load_packet(packets_of(rank) + 2 * (at + static_cast<std::size_t>(w) * 4));
    };
    A sums[kElements] = {};
#pragma unroll 1
    for (int first = 0; first < ranks; first += kAtOnce) {
      std::uint64_t words[kAtOnce][kWords];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i)
#pragma unroll
        for (int w = 0; w < kWords; ++w)
          words[i][w] = first + i < ranks && first + i != me ? word_of(first + i, w) : own[w];
#pragma unroll 1
      for (int missing = first;;) {
        missing = -1;
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i)
#pragma unroll
          for (int w = 0; w < kWords; ++w)
            if (tag_of(words[i][w]) != tag) {
              missing = first + i;
              words[i][w] = word_of(missing, w);
            }
        if (missing < 0) break;
        if (!again(missing)) return missing;
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (first + i == ranks) break;
        std::uint32_t data[kWords];
#pragma unroll
        for (int w = 0; w < kWords; ++w) data[w] = static_cast<std::uint32_t>(words[i][w]) ^ (kFlips ? end.flip : 0);
        T elements[kElements];
        memcpy(elements, data, sizeof elements);
#pragma unroll
        for (int e = 0; e < kElements; ++e) {
          const A value = widen<A>(elements[e]);
          sums[e] = first + i == 0 ? value : combine<L::op>(sums[e], value);
        }
      }
    }
#pragma unroll
    for (int e = 0; e < kElements; ++e) {
      const std::size_t byte = at + static_cast<std::size_t>(e) * sizeof(T);
      const T value = finish<T>(sums[e], kDivides ? end.divisor : 1);
      decltype(load<sizeof(T)>(out)) word;
      memcpy(&word, &value, sizeof(T));
      if constexpr (kFlips) word = flipped(word, end.flip);
      if (byte < message.bytes) store<sizeof(T)>(out + byte, word);
    }
  }
  return -1;
}

}  // namespace tutti::device
