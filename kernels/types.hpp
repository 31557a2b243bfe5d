// Element types and reduction operators, and the one dispatch from their run-time names to C++ types.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#ifdef __CUDACC__
#define TUTTI_HD __host__ __device__ __forceinline__
#else
#define TUTTI_HD inline __attribute__((always_inline))
#endif

namespace tutti {

enum class DataType : std::uint8_t { f32, f64, f16, bf16, i8, u8, i32, u32, i64, u64 };
inline constexpr int kDataTypes = 10;

/// sum, prod: integers wrap. min, max: NaN wins, -0 < +0. avg: the sum divided once by the world size; integers toward
/// zero. 16-bit types accumulate in f32 within one `reduce` word.
enum class ReduceOp : std::uint8_t { sum, prod, min, max, avg };
inline constexpr int kReduceOps = 5;

/// IEEE half precision, storage only: convert with to_float / from_float.
struct f16 {
  std::uint16_t bits;
};
/// bfloat16: the upper half of an f32.
struct bf16 {
  std::uint16_t bits;
};

TUTTI_HD constexpr std::size_t size_of(DataType type) {
  // log2 of the sizes, two bits each: a table would be a memory access in kernels.
  return std::size_t{1} << (0xfa05eu >> (2 * static_cast<int>(type)) & 3);
}
static_assert(size_of(DataType::f32) == 4 && size_of(DataType::f64) == 8 && size_of(DataType::f16) == 2 &&
              size_of(DataType::bf16) == 2 && size_of(DataType::i8) == 1 && size_of(DataType::u8) == 1 &&
              size_of(DataType::i32) == 4 && size_of(DataType::u32) == 4 && size_of(DataType::i64) == 8 &&
              size_of(DataType::u64) == 8);
constexpr const char* name_of(DataType type) {
  constexpr const char* names[kDataTypes] = {"f32", "f64", "f16", "bf16", "i8", "u8", "i32", "u32", "i64", "u64"};
  return names[static_cast<int>(type)];
}
constexpr const char* name_of(ReduceOp op) {
  constexpr const char* names[kReduceOps] = {"sum", "prod", "min", "max", "avg"};
  return names[static_cast<int>(op)];
}

/// What a `reduce` word applies: `op` over the sources in their order, then, if `divisor` > 1, one division.
struct Reduction {
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;  ///< never avg here: avg is sum with a divisor
  std::uint32_t divisor = 1;    ///< world size of an avg, applied by the last reduction of an element
};

/// Whether a switch that reduces (NVSwitch, by the multimem instructions of PTX) computes this as `reduce` does, but
/// for the order: it has no product, no 8-bit types, no minimum of floats in which NaN wins, and rounds sums to their
/// type.
TUTTI_HD constexpr bool multicasts(const Reduction& reduction) {
  const DataType type = reduction.type;
  const bool is_wide_float = type == DataType::f32 || type == DataType::f64;
  const bool is_float = is_wide_float || type == DataType::f16 || type == DataType::bf16;
  if (size_of(type) == 1) return false;
  if (reduction.op == ReduceOp::sum) return reduction.divisor == 1 || is_wide_float;
  return (reduction.op == ReduceOp::min || reduction.op == ReduceOp::max) && !is_float;
}

template <class T>
struct data_type;
#define TUTTI_DATA_TYPE(cpp, name)                    \
  template <>                                         \
  struct data_type<cpp> {                             \
    static constexpr DataType value = DataType::name; \
  };
TUTTI_DATA_TYPE(float, f32)
TUTTI_DATA_TYPE(double, f64)
TUTTI_DATA_TYPE(f16, f16)
TUTTI_DATA_TYPE(bf16, bf16)
TUTTI_DATA_TYPE(std::int8_t, i8)
TUTTI_DATA_TYPE(std::uint8_t, u8)
TUTTI_DATA_TYPE(std::int32_t, i32)
TUTTI_DATA_TYPE(std::uint32_t, u32)
TUTTI_DATA_TYPE(std::int64_t, i64)
TUTTI_DATA_TYPE(std::uint64_t, u64)
#undef TUTTI_DATA_TYPE
template <class T>
inline constexpr DataType data_type_v = data_type<T>::value;

template <class T>
struct Tag {
  using type = T;
};

/// Calls f(Tag<T>{}) with the C++ type of `type`.
template <class F>
TUTTI_HD decltype(auto) dispatch(DataType type, F&& f) {
  switch (type) {
    case DataType::f64: return f(Tag<double>{});
    case DataType::f16: return f(Tag<f16>{});
    case DataType::bf16: return f(Tag<bf16>{});
    case DataType::i8: return f(Tag<std::int8_t>{});
    case DataType::u8: return f(Tag<std::uint8_t>{});
    case DataType::i32: return f(Tag<std::int32_t>{});
    case DataType::u32: return f(Tag<std::uint32_t>{});
    case DataType::i64: return f(Tag<std::int64_t>{});
    case DataType::u64: return f(Tag<std::uint64_t>{});
    default: return f(Tag<float>{});
  }
}

/// Calls f(Tag<T>{}, std::integral_constant<ReduceOp, op>{}).
template <class F>
TUTTI_HD decltype(auto) dispatch(DataType type, ReduceOp op, F&& f) {
  return dispatch(type, [&](auto tag) -> decltype(auto) {
    switch (op) {
      case ReduceOp::prod: return f(tag, std::integral_constant<ReduceOp, ReduceOp::prod>{});
      case ReduceOp::min: return f(tag, std::integral_constant<ReduceOp, ReduceOp::min>{});
      case ReduceOp::max: return f(tag, std::integral_constant<ReduceOp, ReduceOp::max>{});
      default: return f(tag, std::integral_constant<ReduceOp, ReduceOp::sum>{});
    }
  });
}

}  // namespace tutti
