// Views: where a word of a block reads or writes. Trivially copyable, never an array that a kernel fills.
#pragma once
#include <cstddef>

#include "kernels/types.hpp"

#ifdef __CUDACC__
#define TUTTI_KERNEL __device__ __forceinline__
#else
#define TUTTI_KERNEL inline
#endif

namespace tutti {

/// One to three places, or one place per rank: entry i of `table` plus `offset`, with the entry of rank `own`
/// replaced by a place of this rank's choosing.
struct View {
  char* const* table = nullptr;
  std::size_t offset = 0;
  char* first = nullptr;
  char* second = nullptr;
  char* third = nullptr;
  int count = 1;
  int own = -1;

  TUTTI_HD char* at(int i) const {
    if (table) return i == own ? first : table[i] + offset;
    return i == 0 ? first : i == 1 ? second : third;
  }
  /// Every place `bytes` further on, the own one too.
  TUTTI_HD View plus(std::size_t bytes) const {
    View view = *this;
    view.offset += bytes;
    if (view.first) view.first += bytes;
    if (view.second) view.second += bytes;
    if (view.third) view.third += bytes;
    return view;
  }
  /// `place` as it stands, in place of the table's entry of `rank`.
  TUTTI_HD View with_own(int rank, const void* place) const {
    View view = *this;
    view.own = rank;
    view.first = static_cast<char*>(const_cast<void*>(place));
    return view;
  }
};

TUTTI_HD View one(const void* place) { return {.first = static_cast<char*>(const_cast<void*>(place))}; }
TUTTI_HD View two(const void* a, const void* b) {
  return {.first = static_cast<char*>(const_cast<void*>(a)),
          .second = static_cast<char*>(const_cast<void*>(b)),
          .count = 2};
}
/// `a`, and those of the others that are not null; no `c` without a `b`. (A choice between views made elsewhere costs
/// GPU code for views that none of them is.)
TUTTI_HD View present(const void* a, const void* b, const void* c = nullptr) {
  View view = two(a, b);
  view.third = static_cast<char*>(const_cast<void*>(c));
  view.count = b == nullptr ? 1 : c == nullptr ? 2 : 3;
  return view;
}
TUTTI_HD View per_rank(char* const* table, int ranks, std::size_t offset) {
  return {.table = table, .offset = offset, .count = ranks};
}

/// One place per rank, all of which a switch reaches at once: it reduces what it loads from them and replicates what it
/// stores to them, in no promised order, in units of 16 bytes. Executors without such a switch visit the places.
struct Multicast : View {
  char* address = nullptr;  ///< for the switch; a multiple of 16
};

/// A range of elements [begin, end).
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
  TUTTI_HD std::size_t size() const { return end - begin; }
};

TUTTI_HD std::size_t ceil_div(std::size_t a, std::size_t b) { return (a + b - 1) / b; }
TUTTI_HD std::size_t smaller(std::size_t a, std::size_t b) { return a < b ? a : b; }

/// Part `index` of `parts` of [0, total): equal parts rounded up to `unit` elements, the last ones shorter or empty.
TUTTI_HD Range part(std::size_t total, std::size_t parts, std::size_t index, std::size_t unit) {
  const std::size_t size = ceil_div(ceil_div(total, parts), unit) * unit;
  const std::size_t begin = smaller(total, size * index);
  return {begin, smaller(total, begin + size)};
}

/// Piece `index` of [0, total) cut into pieces of `size`; empty past the end.
TUTTI_HD Range piece(std::size_t total, std::size_t size, std::size_t index) {
  const std::size_t begin = smaller(total, size * index);
  return {begin, smaller(total, begin + size)};
}

}  // namespace tutti
