// Packets on the GPU: each 8-byte word carries 4 bytes of the message and the tag of its use, so that a reader needs no
// flag: the word is there or it is not. All accesses to packets, the wiping ones too, are strong at system scope.
//
// Every use sends at least one unit to each peer, even of an empty message, and every word that is sent is polled: a
// use in which a peer is not heard from would break the rule of two halves (see packets.hpp). That rule needs the reads
// of use u to be done before the peers write use u + 2. No release or acquire orders that: all is relaxed. It holds
// because a kernel cannot begin before the one before it has ended, and that one's polls end only when the words of use
// u have come. A peer that has seen a word of the kernel of use u + 1, so knows that it began, puts use u + 2 in a
// later kernel of its own. (tests/emulator/litmus: packet_halves, packets_and_kernel_ends_bad.)
//
// No barrier of the block stands between the words that a kernel by packets is made of. In the caller's buffers that is
// sound because one thread puts, polls and sums the same unit (4 bytes, or one element of 8): where a reduction is in
// place, it reads its part of the input before it overwrites it. What is put, copied and got without being added lies
// in disjoint memory, but for the own chunk in place, which `copy` then leaves alone.
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

/// The reverse.
__device__ __forceinline__ void store_part(char* to, std::size_t at, std::size_t bytes, std::uint32_t word) {
  char* const begin = to + at;
  if (at + 4 <= bytes && (address(begin) & 3) == 0) return ptx::store_4(begin, word);
#pragma unroll
  for (unsigned i = 0; i < 4; ++i)
    if (at + i < bytes) ptx::store_1(begin + i, static_cast<std::uint8_t>(word >> (8 * i)));
}

/// A message as it lies in a packet region: `units` of 4 or 8 bytes, each of one or two words. An empty one is one
/// unit.
struct Words {
  std::size_t bytes;  ///< of the message
  std::size_t width;  ///< of a unit
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

/// Whether a message goes to, or comes from, `peer`, if `whom` is kAll or a rank.
__device__ __forceinline__ bool concerns(int whom, int peer) { return whom == kAll || whom == peer; }

/// Stores the message at in + p * stride, or an empty one, for every rank p but `me`; see Block.
template <class PacketsAt>
__device__ __forceinline__ void put_words(const char* in, Words message, std::size_t stride, int to, int ranks, int me,
                                          std::uint32_t tag, PacketsAt packets_at) {
  const int next = me + 1 == ranks ? 0 : me + 1;
#pragma unroll 1
  for (std::size_t unit = lane(); unit < message.units(); unit += lanes()) {
#pragma unroll 1
    for (std::size_t at = unit * message.width; at < (unit + 1) * message.width; at += 4) {
      std::uint32_t data = 0;
#pragma unroll 1
      for (int peer = next; peer != me; peer = peer + 1 == ranks ? 0 : peer + 1) {
        const bool whole = concerns(to, peer);
        if (!whole && unit != 0) continue;
        if (whole && (stride != 0 || to == peer || peer == next))  // what goes to all is loaded once
          data = load_part(in + static_cast<std::size_t>(peer) * stride, at, message.bytes);
        ptx::store_packet(packets_at(peer) + 2 * at, packet(data, tag));  // pairs with load_packet at the peer
      }
    }
  }
}

inline constexpr int kAtOnce = 4;  ///< ranks whose words are loaded together

/// Loads the words of ranks first, first + 1, ... together, and again until all that `awaited(rank)` have the tag; the
/// others become `filler`. Returns -1, or the rank of a word for which `arrivals` gave up.
template <int kWords, class Awaited, class WordOf, class Arrivals>
__device__ __forceinline__ int await_words(std::uint64_t (&words)[kAtOnce][kWords],
                                           const std::uint64_t (&filler)[kWords], int first, Awaited awaited,
                                           WordOf word_of, Arrivals& arrivals) {
#pragma unroll
  for (int i = 0; i < kAtOnce; ++i)
#pragma unroll
    for (int w = 0; w < kWords; ++w) words[i][w] = awaited(first + i) ? word_of(first + i, w) : filler[w];
#pragma unroll 1
  for (;;) {
    int missing = -1;
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i)
#pragma unroll
      for (int w = 0; w < kWords; ++w)
        if (tag_of(words[i][w]) != arrivals.tag()) missing = first + i;
    if (missing < 0) return -1;
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i)
#pragma unroll
      for (int w = 0; w < kWords; ++w)
        if (tag_of(words[i][w]) != arrivals.tag()) words[i][w] = word_of(first + i, w);
    if (!arrivals.again(missing)) return missing;
  }
}

/// Polls the words of all ranks but `me`, and stores the message of each rank p that it takes one from to
/// out + p * stride; see Block. Returns -1, or the rank whose words did not come.
template <class Arrivals>
__device__ __forceinline__ int get_words(char* out, Words message, std::size_t stride, int from, int ranks, int me,
                                         Arrivals& arrivals) {
  const std::uint64_t filler[1] = {packet(0, arrivals.tag())};
#pragma unroll 1
  for (std::size_t at = lane() * 4; at < message.units() * message.width; at += lanes() * 4) {
#pragma unroll 1
    for (int first = 0; first < ranks; first += kAtOnce) {
      std::uint64_t words[kAtOnce][1];
      const auto awaited = [&](int rank) {
        return rank < ranks && rank != me && (concerns(from, rank) || at < message.width);
      };
      const auto word_of = [&](int rank, int) { return ptx::load_packet(arrivals.from(rank) + 2 * at); };
      const int missing = await_words(words, filler, first, awaited, word_of, arrivals);
      if (missing >= 0) return missing;
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i)
        if (awaited(first + i) && concerns(from, first + i))
          store_part(out + static_cast<std::size_t>(first + i) * stride, at, message.bytes,
                     static_cast<std::uint32_t>(words[i][0]));
    }
  }
  return -1;
}

/// out = reduction of the units of all ranks, in rank order. Returns -1, or the rank whose words did not come; nothing
/// more is then written.
template <class L, class Arrivals>
__device__ __forceinline__ int reduce_words(char* out, const char* in, std::size_t n, Finish end, int ranks, int me,
                                            Arrivals& arrivals) {
  using T = typename L::Type;
  using A = Accumulator<T, L::divided>;
  constexpr int kWords = sizeof(T) == 8 ? 2 : 1;
  constexpr int kElements = kWords * 4 / static_cast<int>(sizeof(T));
  constexpr bool kFlips = std::is_integral_v<T> && L::op == ReduceOp::min;
  constexpr bool kDivides = L::op == ReduceOp::sum && (L::divided || std::is_floating_point_v<A>);
  const Words message(n, sizeof(T));
#pragma unroll 1
  for (std::size_t unit = lane(); unit < message.units(); unit += lanes()) {
    const std::size_t at = unit * message.width;
    std::uint64_t own[kWords];
#pragma unroll
    for (int w = 0; w < kWords; ++w)
      own[w] = packet(load_part(in, at + static_cast<std::size_t>(w) * 4, message.bytes), arrivals.tag());
    const auto word_of = [&](int rank, int w) {  // pairs with store_packet at that rank
      return ptx::load_packet(arrivals.from(rank) + 2 * (at + static_cast<std::size_t>(w) * 4));
    };
    A sums[kElements] = {};
#pragma unroll 1
    for (int first = 0; first < ranks; first += kAtOnce) {
      std::uint64_t words[kAtOnce][kWords];
      const auto awaited = [&](int rank) { return rank < ranks && rank != me; };
      const int missing = await_words(words, own, first, awaited, word_of, arrivals);
      if (missing >= 0) return missing;
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
