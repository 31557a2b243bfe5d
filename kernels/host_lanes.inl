// One vector of elements under the reductions of host_loops.inl: how it opens into accumulators, combines and closes.
#pragma once
#include "kernels/arithmetic.hpp"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

// The unnamed namespace keeps the code of one instruction set out of the linker's hands: an inline function with
// external linkage would be kept once, for all sets, from whichever object came first.
#define TUTTI_LANES inline __attribute__((always_inline))

namespace tutti::host {
namespace {

template <class T, int kBytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(kBytes)));
};
template <class T, int kBytes>
using Vector = typename VectorOf<T, kBytes>::type;
/// kBytes of memory in a register, of any element type.
template <int kBytes>
using Raw = Vector<std::uint64_t, kBytes>;

template <class To, class From>
TUTTI_LANES To as(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

/// `yes` where the mask is all ones, `no` where it is zero.
template <class V, class M>
TUTTI_LANES V select(const M& mask, const V& yes, const V& no) {
  return as<V>((mask & as<M>(yes)) | (~mask & as<M>(no)));
}

/// minps and maxps: the second operand where either is NaN or both are equal.
template <ReduceOp op, int W>
TUTTI_LANES Vector<float, W> raw_minmax(const Vector<float, W>& a, const Vector<float, W>& b) {
  constexpr bool kMin = op == ReduceOp::min;
#if defined(__AVX512F__)
  if constexpr (W == 64)
    return as<Vector<float, W>>(kMin ? _mm512_min_ps((__m512)a, (__m512)b) : _mm512_max_ps((__m512)a, (__m512)b));
#endif
#if defined(__AVX2__)
  if constexpr (W == 32)
    return as<Vector<float, W>>(kMin ? _mm256_min_ps((__m256)a, (__m256)b) : _mm256_max_ps((__m256)a, (__m256)b));
#endif
#if defined(__SSE4_2__)
  if constexpr (W == 16)
    return as<Vector<float, W>>(kMin ? _mm_min_ps((__m128)a, (__m128)b) : _mm_max_ps((__m128)a, (__m128)b));
#endif
  return kMin ? (a < b ? a : b) : (b < a ? a : b);
}
template <ReduceOp op, int W>
TUTTI_LANES Vector<double, W> raw_minmax(const Vector<double, W>& a, const Vector<double, W>& b) {
  constexpr bool kMin = op == ReduceOp::min;
#if defined(__AVX512F__)
  if constexpr (W == 64)
    return as<Vector<double, W>>(kMin ? _mm512_min_pd((__m512d)a, (__m512d)b) : _mm512_max_pd((__m512d)a, (__m512d)b));
#endif
#if defined(__AVX2__)
  if constexpr (W == 32)
    return as<Vector<double, W>>(kMin ? _mm256_min_pd((__m256d)a, (__m256d)b) : _mm256_max_pd((__m256d)a, (__m256d)b));
#endif
#if defined(__SSE4_2__)
  if constexpr (W == 16)
    return as<Vector<double, W>>(kMin ? _mm_min_pd((__m128d)a, (__m128d)b) : _mm_max_pd((__m128d)a, (__m128d)b));
#endif
  return kMin ? (a < b ? a : b) : (b < a ? a : b);
}

template <ReduceOp op, class T, int W>
TUTTI_LANES Vector<T, W> combined(const Vector<T, W>& a, const Vector<T, W>& b) {
  if constexpr (op == ReduceOp::sum) {
    return a + b;
  } else if constexpr (op == ReduceOp::prod) {
    return a * b;
  } else if constexpr (std::is_integral_v<T>) {
    return op == ReduceOp::min ? (a < b ? a : b) : (a < b ? b : a);
  } else {
    // Taken both ways round, the two results differ only for a zero of each sign and for a NaN. ORed, they give -0 and
    // a NaN; max wants the AND of the signs, and the OR of the rest.
    using U = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    using Bits = Vector<U, W>;
    const Bits x = as<Bits>(raw_minmax<op, W>(a, b));
    const Bits y = as<Bits>(raw_minmax<op, W>(b, a));
    if constexpr (op == ReduceOp::min) return as<Vector<T, W>>(x | y);
    const Bits sign = Bits{} + (U{1} << (8 * sizeof(T) - 1));
    return as<Vector<T, W>>((sign & x & y) | (~sign & (x | y)));
  }
}

// ---- Half precision, 2 f32 vectors to a vector of 16-bit elements ---------------------------------------------------

/// The elements in the low halves of 32-bit lanes, as f32.
template <int W>
TUTTI_LANES Vector<float, W> f16_open(const Vector<std::uint32_t, W>& halves) {
  using U = Vector<std::uint32_t, W>;
  using F = Vector<float, W>;
  const U sign = (halves & 0x8000u) << 16;
  const U magnitude = (halves & 0x7fffu) << 13;
  const U exponent = magnitude & 0x0f800000u;
  const U normal = magnitude + ((127u - 15) << 23);
  const U special = normal + ((127u - 15) << 23);
  const U nan = as<U>(magnitude > 0x0f800000u) & 0x00400000u;
  const U tiny = as<U>(as<F>(normal + (1u << 23)) - as<F>(U{} + (113u << 23)));
  U bits = select(as<U>(exponent == 0), tiny, normal);
  bits = select(as<U>(exponent == 0x0f800000u), special | nan, bits);
  return as<F>(bits | sign);
}

/// The f32 rounded to nearest even, in the low halves of 32-bit lanes.
template <int W>
TUTTI_LANES Vector<std::uint32_t, W> f16_close(const Vector<float, W>& value) {
  using U = Vector<std::uint32_t, W>;
  using F = Vector<float, W>;
  const U all = as<U>(value);
  const U sign = (all >> 16) & 0x8000u;
  const U bits = all & 0x7fffffffu;
  constexpr std::uint32_t magic = (127u - 15 + 23 - 10 + 1) << 23;
  const U tiny = as<U>(as<F>(bits) + as<F>(U{} + magic)) - magic;
  const U normal = (bits - ((127u - 15) << 23) + 0xfffu + ((bits >> 13) & 1u)) >> 13;
  const U nan = 0x7e00u | ((bits >> 13) & 0x3ffu);
  // Unsigned comparisons of non-negative numbers, written signed: SSE and AVX2 have only those.
  using I = Vector<std::int32_t, W>;
  const I ordered = as<I>(bits);
  U out = select(as<U>(ordered < ((127 - 14) << 23)), tiny, normal);
  out = select(as<U>(ordered >= ((127 + 16) << 23)), U{} + 0x7c00u, out);
  out = select(as<U>(ordered > 0x7f800000), nan, out);
  return out | sign;
}

/// The f32 rounded to nearest even, in the upper halves of the lanes. A NaN is cut, not rounded: its first bit is in
/// the upper half, as it was opened from 16 bits or comes from arithmetic.
template <int W>
TUTTI_LANES Vector<std::uint32_t, W> bf16_close(const Vector<float, W>& value) {
  using U = Vector<std::uint32_t, W>;
  const U bits = as<U>(value);
  return bits + (as<U>(value == value) & (0x7fffu + ((bits >> 16) & 1u)));
}

/// N accumulator vectors of A hold what one vector of W bytes opens into.
template <class A, int W, int N>
struct Opened {
  Vector<A, W> v[N];
};

/// The elements as they are; integers unsigned where they wrap.
template <class T, class A, int W>
struct Plain {
  using Element = A;
  static constexpr int kWidth = W;
  static constexpr int kVectors = 1;
  using Acc = Opened<A, W, 1>;
  static TUTTI_LANES Acc open(const Raw<W>& raw) { return Acc{{as<Vector<A, W>>(raw)}}; }
  static TUTTI_LANES Raw<W> close(const Acc& acc, std::uint32_t divisor) {
    // Integers come here divided only with 64 bits.
    if constexpr (std::is_floating_point_v<A>) {
      if (divisor > 1) return as<Raw<W>>(acc.v[0] / static_cast<A>(divisor));
    }
    return as<Raw<W>>(acc.v[0]);
  }
};

/// kRounds: the accumulators may hold more than 16 bits.
template <bool kRounds, int W>
struct Bfloats {
  using Element = float;
  static constexpr int kWidth = W;
  static constexpr int kVectors = 2;
  using Acc = Opened<float, W, 2>;
  using U = Vector<std::uint32_t, W>;
  using F = Vector<float, W>;
  // Even elements, then odd ones: no lane ever moves.
  static TUTTI_LANES Acc open(const Raw<W>& raw) {
    const U bits = as<U>(raw);
    return Acc{{as<F>(bits << 16), as<F>(bits & 0xffff0000u)}};
  }
  static TUTTI_LANES Raw<W> close(const Acc& acc, std::uint32_t divisor) {
    F even = acc.v[0];
    F odd = acc.v[1];
    if (divisor > 1) {
      even /= static_cast<float>(divisor);
      odd /= static_cast<float>(divisor);
    } else if constexpr (!kRounds) {
      return as<Raw<W>>((as<U>(even) >> 16) | as<U>(odd));
    }
    return as<Raw<W>>((bf16_close<W>(even) >> 16) | (bf16_close<W>(odd) & 0xffff0000u));
  }
};

template <int W>
struct Halves {
  using Element = float;
  static constexpr int kWidth = W;
  static constexpr int kVectors = 2;
  using Acc = Opened<float, W, 2>;
  using U = Vector<std::uint32_t, W>;
  using F = Vector<float, W>;
  static TUTTI_LANES Acc open(const Raw<W>& raw) {
#if defined(__AVX512F__)
    if constexpr (W == 64) {
      const __m512i all = as<__m512i>(raw);
      return Acc{{as<F>(_mm512_cvtph_ps(_mm512_castsi512_si256(all))),
                  as<F>(_mm512_cvtph_ps(_mm512_extracti64x4_epi64(all, 1)))}};
    }
#endif
#if defined(__F16C__)
    if constexpr (W == 32) {
      const __m256i all = as<__m256i>(raw);
      return Acc{{as<F>(_mm256_cvtph_ps(_mm256_castsi256_si128(all))),
                  as<F>(_mm256_cvtph_ps(_mm256_extracti128_si256(all, 1)))}};
    }
    if constexpr (W == 16) {
      const __m128i all = as<__m128i>(raw);
      return Acc{{as<F>(_mm_cvtph_ps(all)), as<F>(_mm_cvtph_ps(_mm_unpackhi_epi64(all, all)))}};
    }
#endif
    const U bits = as<U>(raw);
    return Acc{{f16_open<W>(bits & 0xffffu), f16_open<W>(bits >> 16)}};
  }
  static TUTTI_LANES Raw<W> close(const Acc& acc, std::uint32_t divisor) {
    F first = acc.v[0];
    F second = acc.v[1];
    if (divisor > 1) {
      first /= static_cast<float>(divisor);
      second /= static_cast<float>(divisor);
    }
#if defined(__AVX512F__)
    if constexpr (W == 64) {
      constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
      const __m256i low = _mm512_cvtps_ph(as<__m512>(first), kNearest);
      const __m256i high = _mm512_cvtps_ph(as<__m512>(second), kNearest);
      return as<Raw<W>>(_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));
    }
#endif
#if defined(__F16C__)
    if constexpr (W == 32) {
      const __m128i low = _mm256_cvtps_ph(as<__m256>(first), _MM_FROUND_TO_NEAREST_INT);
      const __m128i high = _mm256_cvtps_ph(as<__m256>(second), _MM_FROUND_TO_NEAREST_INT);
      return as<Raw<W>>(_mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1));
    }
    if constexpr (W == 16) {
      const __m128i low = _mm_cvtps_ph(as<__m128>(first), _MM_FROUND_TO_NEAREST_INT);
      const __m128i high = _mm_cvtps_ph(as<__m128>(second), _MM_FROUND_TO_NEAREST_INT);
      return as<Raw<W>>(_mm_unpacklo_epi64(low, high));
    }
#endif
    return as<Raw<W>>(f16_close<W>(first) | (f16_close<W>(second) << 16));
  }
};

// ---- Divided integers: exact in the accumulator, one division, toward zero
// -------------------------------------------

/// 8 bits in f32: sums of up to 2^15 elements are exact, and so is the quotient's integer part.
template <class T, int W>
struct MeanOfBytes {
  using Element = float;
  static constexpr int kWidth = W;
  static constexpr int kVectors = 4;
  using Acc = Opened<float, W, 4>;
  using I = Vector<std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>, W>;
  using S = Vector<std::int32_t, W>;
  using F = Vector<float, W>;
  static TUTTI_LANES Acc open(const Raw<W>& raw) {
    const I bits = as<I>(raw);
    Acc acc;
    for (int i = 0; i < 4; ++i) acc.v[i] = __builtin_convertvector(as<S>((bits << (24 - 8 * i)) >> 24), F);
    return acc;
  }
  static TUTTI_LANES Raw<W> close(const Acc& acc, std::uint32_t divisor) {
    using U = Vector<std::uint32_t, W>;
    U out{};
    for (int i = 0; i < 4; ++i) {
      const U mean = as<U>(__builtin_convertvector(acc.v[i] / static_cast<float>(divisor), S));
      out |= (mean & 0xffu) << (8 * i);
    }
    return as<Raw<W>>(out);
  }
};

/// 32 bits in f64: sums of up to 2^20 elements are exact, and so is the quotient's integer part.
template <class T, int W>
struct MeanOfWords {
  using Element = double;
  static constexpr int kWidth = W;
  static constexpr int kVectors = 2;
  using Acc = Opened<double, W, 2>;
  using D = Vector<double, W>;
  using Half = Vector<std::int32_t, W / 2>;
  // u32 travels as i32 with its top bit flipped, which is 2^31 less: no x86 below AVX-512 converts u32.
  static constexpr double kBias = std::is_signed_v<T> ? 0 : 2147483648.0;
  static constexpr std::uint32_t kFlip = std::is_signed_v<T> ? 0 : 0x80000000u;
  static TUTTI_LANES Acc open(const Raw<W>& raw) {
    const auto words = as<Vector<std::uint32_t, W>>(raw) ^ kFlip;
    Half part[2];
    __builtin_memcpy(part, &words, sizeof words);
    return Acc{{__builtin_convertvector(part[0], D) + kBias, __builtin_convertvector(part[1], D) + kBias}};
  }
  static TUTTI_LANES Raw<W> close(const Acc& acc, std::uint32_t divisor) {
    Half part[2];
    for (int i = 0; i < 2; ++i) {
      const D quotient = acc.v[i] / static_cast<double>(divisor);
      if constexpr (std::is_signed_v<T>) {
        part[i] = __builtin_convertvector(quotient, Half);
      } else {
        part[i] = __builtin_convertvector(floor_of(quotient) - kBias, Half);
      }
    }
    Vector<std::uint32_t, W> words;
    __builtin_memcpy(&words, part, sizeof words);
    return as<Raw<W>>(words ^ kFlip);
  }
  static TUTTI_LANES D floor_of(const D& x) {
    // In [0, 2^33): adding 2^52 rounds to an integer, one too many at most.
    const D rounded = (x + 0x1p52) - 0x1p52;
    return rounded - as<D>(as<Raw<W>>(rounded > x) & as<Raw<W>>(D{} + 1.0));
  }
};

template <class T, int W>
struct MeanOfLongs {
  using Element = std::uint64_t;
  static constexpr int kWidth = W;
  static constexpr int kVectors = 1;
  using Acc = Opened<std::uint64_t, W, 1>;
  static TUTTI_LANES Acc open(const Raw<W>& raw) { return Acc{{raw}}; }
  static TUTTI_LANES Raw<W> close(const Acc& acc, std::uint32_t divisor) {
    return as<Raw<W>>(as<Vector<T, W>>(acc.v[0]) / static_cast<T>(divisor));
  }
};

template <class T, ReduceOp op, bool kDivided, int W>
struct LanesOf {
  static constexpr bool kWraps = std::is_integral_v<T> && (op == ReduceOp::sum || op == ReduceOp::prod);
  static auto choose() {
    if constexpr (std::is_same_v<T, f16>) {
      return Tag<Halves<W>>{};
    } else if constexpr (std::is_same_v<T, bf16>) {
      return Tag<Bfloats<op == ReduceOp::sum || op == ReduceOp::prod, W>>{};
    } else if constexpr (!kDivided || !std::is_integral_v<T>) {
      if constexpr (kWraps) {
        return Tag<Plain<T, std::make_unsigned_t<T>, W>>{};
      } else {
        return Tag<Plain<T, T, W>>{};
      }
    } else if constexpr (sizeof(T) == 1) {
      return Tag<MeanOfBytes<T, W>>{};
    } else if constexpr (sizeof(T) == 4) {
      return Tag<MeanOfWords<T, W>>{};
    } else {
      return Tag<MeanOfLongs<T, W>>{};
    }
  }
  using type = typename decltype(choose())::type;
};

}  // namespace
}  // namespace tutti::host
