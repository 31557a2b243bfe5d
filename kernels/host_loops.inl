// The loops behind kernels/host_loops.hpp. Included once by each host_loops_<set>.cpp, which is compiled for its
// instruction set and has named its table TUTTI_LOOPS and TUTTI_LOOPS_NAME.
//
// A reduction walks tiles: a few vectors of each source in turn, summed in registers, then stored to each destination.
// What remains after the last whole vector is one more vector that ends at the last byte and overlaps the one before;
// it is computed first and stored last, so that it is right in place too. Below one vector the width halves down to 16
// bytes, and below 16 the bytes are gathered into one vector.
#include "kernels/host_lanes.inl"
#include "kernels/host_loops.hpp"
#include "kernels/host_loops_sets.hpp"

namespace tutti::host {
namespace {

#if defined(__AVX512F__)
constexpr int kWidest = 64;
#elif defined(__AVX2__)
constexpr int kWidest = 32;
#else
constexpr int kWidest = 16;
#endif
constexpr std::size_t kLine = 64;
constexpr int kMostSources = 64;

// ---- Moving vectors
// --------------------------------------------------------------------------------------------------

template <int W>
TUTTI_LANES Raw<W> load(const char* from) {
  Raw<W> raw;
  __builtin_memcpy(&raw, from, W);
  return raw;
}

template <Stores stores, int W>
TUTTI_LANES void put(char* to, const Raw<W>& raw) {
  if constexpr (stores == Stores::streaming) {
#if defined(__AVX512F__)
    if constexpr (W == 64) return _mm512_stream_si512(reinterpret_cast<__m512i*>(to), as<__m512i>(raw));
#endif
#if defined(__AVX2__)
    if constexpr (W == 32) return _mm256_stream_si256(reinterpret_cast<__m256i*>(to), as<__m256i>(raw));
#endif
#if defined(__SSE2__)
    if constexpr (W == 16) return _mm_stream_si128(reinterpret_cast<__m128i*>(to), as<__m128i>(raw));
#endif
  }
  __builtin_memcpy(to, &raw, W);
}

template <class T>
TUTTI_LANES T get(const char* from) {
  T value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}
template <class T>
TUTTI_LANES void set(char* to, std::uint64_t value) {
  const T part = static_cast<T>(value);
  __builtin_memcpy(to, &part, sizeof part);
}

/// `bytes` < 16 bytes in the low end of a vector, by two overlapping loads; zeros above.
TUTTI_LANES Raw<16> load_short(const char* from, std::size_t bytes) {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  if (bytes >= 8) {
    low = get<std::uint64_t>(from);
    high = get<std::uint64_t>(from + bytes - 8) >> 8 >> (8 * (15 - bytes));
  } else if (bytes >= 4) {
    low = get<std::uint32_t>(from) | std::uint64_t{get<std::uint32_t>(from + bytes - 4)} << (8 * (bytes - 4));
  } else if (bytes >= 2) {
    low = get<std::uint16_t>(from) | std::uint64_t{get<std::uint16_t>(from + bytes - 2)} << (8 * (bytes - 2));
  } else if (bytes == 1) {
    low = get<std::uint8_t>(from);
  }
  return Raw<16>{low, high};
}

TUTTI_LANES void store_short(char* to, const Raw<16>& raw, std::size_t bytes) {
  const std::uint64_t low = raw[0];
  const std::uint64_t high = raw[1];
  if (bytes >= 8) {
    set<std::uint64_t>(to, low);
    set<std::uint64_t>(to + bytes - 8, (low >> (8 * (bytes - 8))) | (high << 8 << (8 * (15 - bytes))));
  } else if (bytes >= 4) {
    set<std::uint32_t>(to, low);
    set<std::uint32_t>(to + bytes - 4, low >> (8 * (bytes - 4)));
  } else if (bytes >= 2) {
    set<std::uint16_t>(to, low);
    set<std::uint16_t>(to + bytes - 2, low >> (8 * (bytes - 2)));
  } else if (bytes == 1) {
    set<std::uint8_t>(to, low);
  }
}

/// Bytes before the first line boundary that all destinations share, or kLine if they share none.
TUTTI_LANES std::size_t head_of(char* const* dsts, int dst_count) {
  const std::size_t phase = reinterpret_cast<std::uintptr_t>(dsts[0]) % kLine;
  for (int d = 1; d < dst_count; ++d) {
    if (reinterpret_cast<std::uintptr_t>(dsts[d]) % kLine != phase) return kLine;
  }
  return (kLine - phase) % kLine;
}

// ---- Sanitizers
// ------------------------------------------------------------------------------------------------------

// These files are compiled without instrumentation (it does not see streaming stores, and compiles for minutes).
#if defined(TUTTI_DECLARE_TO_TSAN)
extern "C" void __tsan_read_range(void* from, unsigned long bytes);
extern "C" void __tsan_write_range(void* to, unsigned long bytes);
void declare_read(const char* from, std::size_t bytes) { __tsan_read_range(const_cast<char*>(from), bytes); }
void declare_write(char* to, std::size_t bytes) { __tsan_write_range(to, bytes); }
#elif defined(TUTTI_DECLARE_TO_ASAN)
extern "C" void __asan_loadN(void* from, unsigned long bytes);
extern "C" void __asan_storeN(void* to, unsigned long bytes);
void declare_read(const char* from, std::size_t bytes) { __asan_loadN(const_cast<char*>(from), bytes); }
void declare_write(char* to, std::size_t bytes) { __asan_storeN(to, bytes); }
#else
TUTTI_LANES void declare_read(const char*, std::size_t) {}
TUTTI_LANES void declare_write(char*, std::size_t) {}
#endif

// ---- Reduce
// ----------------------------------------------------------------------------------------------------------

struct Job {
  char* const* dsts;
  const char* const* srcs;
  int dst_count;
  int src_count;
  std::uint32_t divisor;
};

template <ReduceOp op, class L>
struct Loop {
  static constexpr int W = L::kWidth;
  using Acc = typename L::Acc;

  static TUTTI_LANES Acc both(const Acc& a, const Acc& b) {
    Acc out;
    for (int i = 0; i < L::kVectors; ++i) out.v[i] = combined<op, typename L::Element, W>(a.v[i], b.v[i]);
    return out;
  }

  /// One vector at `offset` of every source, ready to be stored.
  static TUTTI_LANES Raw<W> one(const Job& job, std::size_t offset) {
    Acc acc = L::open(load<W>(job.srcs[0] + offset));
    for (int s = 1; s < job.src_count; ++s) acc = both(acc, L::open(load<W>(job.srcs[s] + offset)));
    return L::close(acc, job.divisor);
  }

  static TUTTI_LANES void put_all(const Job& job, std::size_t offset, const Raw<W>& raw) {
    for (int d = 0; d < job.dst_count; ++d) put<Stores::cached, W>(job.dsts[d] + offset, raw);
  }

  template <Stores stores, int K>
  static TUTTI_LANES void tile(const Job& job, std::size_t offset) {
    Acc acc[K];
    const char* from = job.srcs[0] + offset;
#pragma GCC unroll 8
    for (int k = 0; k < K; ++k) acc[k] = L::open(load<W>(from + k * W));
#pragma GCC unroll 1
    for (int s = 1; s < job.src_count; ++s) {
      from = job.srcs[s] + offset;
#pragma GCC unroll 8
      for (int k = 0; k < K; ++k) acc[k] = both(acc[k], L::open(load<W>(from + k * W)));
    }
    Raw<W> out[K];
#pragma GCC unroll 8
    for (int k = 0; k < K; ++k) out[k] = L::close(acc[k], job.divisor);
#pragma GCC unroll 1
    for (int d = 0; d < job.dst_count; ++d) {
      char* to = job.dsts[d] + offset;
#pragma GCC unroll 8
      for (int k = 0; k < K; ++k) put<stores, W>(to + k * W, out[k]);
    }
  }

  /// The same for two sources and one destination. 4 KiB of f32 in L1: 90 GB/s against 67 (Zen 4).
  template <Stores stores, int K>
  static TUTTI_LANES void tile_of_two(const char* a, const char* b, char* to, std::uint32_t divisor) {
    Raw<W> out[K];
#pragma GCC unroll 8
    for (int k = 0; k < K; ++k) {
      out[k] = L::close(both(L::open(load<W>(a + k * W)), L::open(load<W>(b + k * W))), divisor);
    }
#pragma GCC unroll 8
    for (int k = 0; k < K; ++k) put<stores, W>(to + k * W, out[k]);
  }

  /// Whole vectors from `begin` up to `end`. `job` is a copy that no store can change, so it stays in registers.
  template <Stores stores>
  static TUTTI_LANES void tiles(const Job job, std::size_t begin, std::size_t end) {
    constexpr int K = L::kVectors == 1 ? 4 : L::kVectors == 2 ? 2 : 1;
    std::size_t offset = begin;
    if (op == ReduceOp::sum && L::kVectors <= 2 && job.src_count == 2 && job.dst_count == 1 && job.divisor <= 1) {
      const char* const a = job.srcs[0];
      const char* const b = job.srcs[1];
      char* const to = job.dsts[0];
      for (; offset + K * W <= end; offset += K * W) tile_of_two<stores, K>(a + offset, b + offset, to + offset, 1);
    }
    for (; offset + K * W <= end; offset += K * W) tile<stores, K>(job, offset);
    if constexpr (K > 1) {
      for (; offset + W <= end; offset += W) tile<stores, 1>(job, offset);
    }
  }

  /// `bytes` >= W.
  static TUTTI_LANES void whole(const Job& job, std::size_t bytes) {
    if (bytes % W == 0) return tiles<Stores::cached>(job, 0, bytes);
    const Raw<W> last = one(job, bytes - W);
    tiles<Stores::cached>(job, 0, bytes);
    put_all(job, bytes - W, last);
  }

  /// W <= `bytes` <= 2 W. Everything is read before anything is written, as the vectors overlap.
  static TUTTI_LANES void two(const Job& job, std::size_t begin, std::size_t bytes) {
    const Raw<W> first = one(job, begin);
    const Raw<W> last = one(job, begin + bytes - W);
    put_all(job, begin, first);
    put_all(job, begin + bytes - W, last);
  }

  /// 2 W <= `bytes` <= 4 W.
  static TUTTI_LANES void four(const Job& job, std::size_t begin, std::size_t bytes) {
    const std::size_t at[4] = {begin, begin + W, begin + bytes - 2 * W, begin + bytes - W};
    Raw<W> out[4];
#pragma GCC unroll 1
    for (int i = 0; i < 4; ++i) out[i] = one(job, at[i]);
#pragma GCC unroll 1
    for (int i = 0; i < 4; ++i) put_all(job, at[i], out[i]);
  }
};

template <ReduceOp op, class L>
TUTTI_LANES void less_than_16(const Job& job, std::size_t begin, std::size_t bytes) {
  static_assert(L::kWidth == 16);
  auto acc = L::open(load_short(job.srcs[0] + begin, bytes));
  for (int s = 1; s < job.src_count; ++s) {
    acc = Loop<op, L>::both(acc, L::open(load_short(job.srcs[s] + begin, bytes)));
  }
  const Raw<16> raw = L::close(acc, job.divisor);
  for (int d = 0; d < job.dst_count; ++d) store_short(job.dsts[d] + begin, raw, bytes);
}

template <class T, ReduceOp op, bool kDivided>
struct Reducer {
  template <int W>
  using Of = Loop<op, typename LanesOf<T, op, kDivided, W>::type>;

  /// Less than one line.
  static __attribute__((noinline)) void edge(const Job& job, std::size_t begin, std::size_t bytes) {
    if (bytes < 16) return less_than_16<op, typename LanesOf<T, op, kDivided, 16>::type>(job, begin, bytes);
    if (bytes <= 32) return Of<16>::two(job, begin, bytes);
    if constexpr (kWidest >= 32) {
      Of<32>::two(job, begin, bytes);
    } else {
      Of<16>::four(job, begin, bytes);
    }
  }

  /// One line or more.
  static __attribute__((noinline)) void cached(const Job& job, std::size_t bytes) { Of<kWidest>::whole(job, bytes); }

  static void streaming(const Job& job, std::size_t bytes, std::size_t head) {
    const std::size_t end = head + (bytes - head) / kLine * kLine;
    if (head > 0) edge(job, 0, head);
    Of<kWidest>::template tiles<Stores::streaming>(job, head, end);
    if (end < bytes) edge(job, end, bytes - end);
  }
};

constexpr std::size_t kBlock = 8 * 1024;  ///< stays in L1 beside the sources; small enough for a fiber's stack

void copy(char* const* dsts, int dst_count, const char* src, std::size_t bytes, Stores stores);

using Run = void (*)(const Job&, std::size_t bytes, Stores stores);

template <class T, ReduceOp op, bool kDivided>
void run(const Job& job, std::size_t bytes, Stores stores);

template <class T, ReduceOp op, bool kDivided>
__attribute__((noinline)) void run_streaming(const Job& job, std::size_t bytes) {
  using R = Reducer<T, op, kDivided>;
  const std::size_t head = head_of(job.dsts, job.dst_count);
  if (head < kLine && head % sizeof(T) == 0) return R::streaming(job, bytes, head);
  // No line boundary is common to all destinations and elements: each gets its own streaming copy, block by block.
  alignas(kLine) char block[kBlock];
  char* const to[1] = {block};
  const char* from[kMostSources];
  for (std::size_t done = 0; done < bytes; done += kBlock) {
    const std::size_t now = bytes - done < kBlock ? bytes - done : kBlock;
    for (int s = 0; s < job.src_count; ++s) from[s] = job.srcs[s] + done;
    run<T, op, kDivided>(Job{to, from, 1, job.src_count, job.divisor}, now, Stores::cached);
    for (int d = 0; d < job.dst_count; ++d) {
      char* const dst = job.dsts[d] + done;
      copy(&dst, 1, block, now, Stores::streaming);
    }
  }
}

template <class T, ReduceOp op, bool kDivided>
void run(const Job& job, std::size_t bytes, Stores stores) {
  using R = Reducer<T, op, kDivided>;
  if (bytes < kLine) return R::edge(job, 0, bytes);
  if (stores == Stores::cached || bytes < 4 * kLine) return R::cached(job, bytes);
  run_streaming<T, op, kDivided>(job, bytes);
}

constexpr int kOps = 4;  ///< sum, prod, min, max
#define TUTTI_RUNS(T)                                                                          \
  {                                                                                            \
    run<T, ReduceOp::sum, false>, run<T, ReduceOp::prod, false>, run<T, ReduceOp::min, false>, \
        run<T, ReduceOp::max, false>                                                           \
  }
constexpr Run kRuns[kDataTypes][kOps] = {TUTTI_RUNS(float),        TUTTI_RUNS(double),        TUTTI_RUNS(f16),
                                         TUTTI_RUNS(bf16),         TUTTI_RUNS(std::int8_t),   TUTTI_RUNS(std::uint8_t),
                                         TUTTI_RUNS(std::int32_t), TUTTI_RUNS(std::uint32_t), TUTTI_RUNS(std::int64_t),
                                         TUTTI_RUNS(std::uint64_t)};
#undef TUTTI_RUNS

/// The divided sum of an integer type, or null where only the element-by-element loop is right: a divisor smaller than
/// the number of sources lets the mean of 32-bit elements wrap.
Run divided_run(const Reduction& reduction, int src_count) {
  if (reduction.op != ReduceOp::sum) return nullptr;
  const bool fits = reduction.divisor >= static_cast<std::uint32_t>(src_count);
  switch (reduction.type) {
    case DataType::i8: return run<std::int8_t, ReduceOp::sum, true>;
    case DataType::u8: return run<std::uint8_t, ReduceOp::sum, true>;
    case DataType::i32: return fits ? run<std::int32_t, ReduceOp::sum, true> : nullptr;
    case DataType::u32: return fits ? run<std::uint32_t, ReduceOp::sum, true> : nullptr;
    case DataType::i64: return run<std::int64_t, ReduceOp::sum, true>;
    case DataType::u64: return run<std::uint64_t, ReduceOp::sum, true>;
    default: return kRuns[static_cast<int>(reduction.type)][0];
  }
}

bool is_floating(DataType type) {
  return type == DataType::f32 || type == DataType::f64 || type == DataType::f16 || type == DataType::bf16;
}

void reduce(char* const* dsts, int dst_count, const char* const* srcs, int src_count, std::size_t count,
            const Reduction& reduction, Stores stores) {
  if (count == 0 || dst_count == 0) return;
  const std::size_t bytes = count * size_of(reduction.type);
  for (int s = 0; s < src_count; ++s) declare_read(srcs[s], bytes);
  for (int d = 0; d < dst_count; ++d) declare_write(dsts[d], bytes);
  Run chosen = kRuns[static_cast<int>(reduction.type)][static_cast<int>(reduction.op) & 3];
  if (reduction.divisor > 1 && !is_floating(reduction.type)) {
    chosen = divided_run(reduction, src_count);
    if (chosen == nullptr) return reduce_by_element(dsts, dst_count, srcs, src_count, count, reduction);
  }
  chosen(Job{dsts, srcs, dst_count, src_count, reduction.divisor}, bytes, stores);
}

// ---- Copy
// ------------------------------------------------------------------------------------------------------------

/// K vectors at each end of the range, which may overlap; read before anything is written.
template <int W, int K>
TUTTI_LANES void copy_ends(char* const* dsts, int dst_count, const char* src, std::size_t bytes) {
  Raw<W> first[K];
  Raw<W> last[K];
#pragma GCC unroll 8
  for (int k = 0; k < K; ++k) {
    first[k] = load<W>(src + k * W);
    last[k] = load<W>(src + bytes - (K - k) * W);
  }
#pragma GCC unroll 1
  for (int d = 0; d < dst_count; ++d) {
    char* const to = dsts[d];
#pragma GCC unroll 8
    for (int k = 0; k < K; ++k) {
      put<Stores::cached, W>(to + k * W, first[k]);
      put<Stores::cached, W>(to + bytes - (K - k) * W, last[k]);
    }
  }
}

/// Up to 256 bytes (128 where vectors have 16 bytes).
TUTTI_LANES void copy_small(char* const* dsts, int dst_count, const char* src, std::size_t bytes) {
  if (bytes < 16) {
    const Raw<16> raw = load_short(src, bytes);
    for (int d = 0; d < dst_count; ++d) store_short(dsts[d], raw, bytes);
    return;
  }
  if (bytes <= 32) return copy_ends<16, 1>(dsts, dst_count, src, bytes);
  constexpr int W = kWidest < 32 ? kWidest : 32;  // 64 is slower here: 7 ns against 4 for 128 bytes on Zen 4
  if (bytes <= 64) return copy_ends<W, 32 / W>(dsts, dst_count, src, bytes);
  if (bytes <= 128) return copy_ends<W, 64 / W>(dsts, dst_count, src, bytes);
  if constexpr (W > 16) copy_ends<W, 128 / W>(dsts, dst_count, src, bytes);
}
constexpr std::size_t kSmall = kWidest > 16 ? 256 : 128;

/// Whole lines from `begin` to `end`.
template <Stores stores>
TUTTI_LANES void copy_lines(char* const* dsts, int dst_count, const char* src, std::size_t begin, std::size_t end) {
  constexpr int kPerLine = static_cast<int>(kLine) / kWidest;
  std::size_t offset = begin;
  for (; offset + 4 * kLine <= end && kWidest > 16; offset += 4 * kLine) {
    Raw<kWidest> raw[4 * kPerLine];
#pragma GCC unroll 16
    for (int k = 0; k < 4 * kPerLine; ++k) raw[k] = load<kWidest>(src + offset + k * kWidest);
#pragma GCC unroll 1
    for (int d = 0; d < dst_count; ++d) {
#pragma GCC unroll 16
      for (int k = 0; k < 4 * kPerLine; ++k) put<stores, kWidest>(dsts[d] + offset + k * kWidest, raw[k]);
    }
  }
  for (; offset < end; offset += kLine) {
    Raw<kWidest> raw[kPerLine];
#pragma GCC unroll 16
    for (int k = 0; k < kPerLine; ++k) raw[k] = load<kWidest>(src + offset + k * kWidest);
#pragma GCC unroll 1
    for (int d = 0; d < dst_count; ++d) {
#pragma GCC unroll 16
      for (int k = 0; k < kPerLine; ++k) put<stores, kWidest>(dsts[d] + offset + k * kWidest, raw[k]);
    }
  }
}

void copy_cached(char* const* dsts, int dst_count, const char* src, std::size_t bytes) {
  if (dst_count == 1) {
    if (dsts[0] != src) __builtin_memcpy(dsts[0], src, bytes);
    return;
  }
  // Blocks of the source stay in L1 while they go to each destination.
  for (std::size_t done = 0; done < bytes; done += kBlock) {
    const std::size_t now = bytes - done < kBlock ? bytes - done : kBlock;
    for (int d = 0; d < dst_count; ++d) {
      if (dsts[d] != src) __builtin_memcpy(dsts[d] + done, src + done, now);
    }
  }
}

void copy_streaming(char* const* dsts, int dst_count, const char* src, std::size_t bytes) {
  const std::size_t head = head_of(dsts, dst_count);
  if (head < kLine) {
    const std::size_t end = head + (bytes - head) / kLine * kLine;
    if (head > 0) copy_small(dsts, dst_count, src, head);
    copy_lines<Stores::streaming>(dsts, dst_count, src, head, end);
    for (int d = 0; d < dst_count && end < bytes; ++d) {
      char* const to = dsts[d] + end;
      copy_small(&to, 1, src + end, bytes - end);
    }
    return;
  }
  for (std::size_t done = 0; done < bytes; done += kBlock) {
    const std::size_t now = bytes - done < kBlock ? bytes - done : kBlock;
    for (int d = 0; d < dst_count; ++d) {
      char* const to = dsts[d] + done;
      copy(&to, 1, src + done, now, Stores::streaming);
    }
  }
}

void copy(char* const* dsts, int dst_count, const char* src, std::size_t bytes, Stores stores) {
  declare_read(src, bytes);
  for (int d = 0; d < dst_count; ++d) declare_write(dsts[d], bytes);
  if (bytes <= kSmall) return copy_small(dsts, dst_count, src, bytes);
  if (stores == Stores::cached) return copy_cached(dsts, dst_count, src, bytes);
  copy_streaming(dsts, dst_count, src, bytes);
}

}  // namespace

const Loops TUTTI_LOOPS = {TUTTI_LOOPS_NAME, copy, reduce};

}  // namespace tutti::host
