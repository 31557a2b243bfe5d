#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "collectives/nccl_interface/elements.hpp"
#include "collectives/nccl_interface/results.hpp"
#include "collectives/nccl_interface/types.hpp"
#include "kernels/arithmetic.hpp"
#include "kernels/start_cuda.cuh"

namespace tutti::nccl_interface {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kMostBlocks = 64;

/// Calls f(i) for every element of a launch's.
template <class F>
__device__ void for_each_element(std::size_t count, F f) {
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += threads) f(i);
}

template <class T>
__global__ void scale_elements(T* to, const T* from, std::size_t count, const T* in_memory, T immediate) {
  using A = Accumulator<T>;
  const A scalar = tutti::widen<A>(in_memory ? *in_memory : immediate);
  for_each_element(count, [&](std::size_t i) {
    to[i] = finish<T>(combine<ReduceOp::prod>(tutti::widen<A>(from[i]), scalar), 1);  // rounds once
  });
}

template <class T>
__global__ void divide_elements(T* elements, std::size_t count, T divisor) {
  for_each_element(count, [&](std::size_t i) { elements[i] = static_cast<T>(elements[i] / divisor); });
}

template <class T>
__global__ void widen_elements(__half* to, const T* from, std::size_t count, const T* in_memory, T immediate) {
  const auto scalar = static_cast<__half>(in_memory ? *in_memory : immediate);
  for_each_element(count, [&](std::size_t i) { to[i] = __hmul(static_cast<__half>(from[i]), scalar); });
}

template <class T>
__global__ void narrow_elements(T* to, const __half* from, std::size_t count) {
  for_each_element(count, [&](std::size_t i) { to[i] = static_cast<T>(from[i]); });
}

/// Calls f(Tag<T>{}) with a type that multiplies as `type` does: products that wrap know no sign.
template <class F>
void dispatch_products(DataType type, F f) {
  switch (type) {
    case DataType::i8:
    case DataType::u8: return f(Tag<std::uint8_t>{});
    case DataType::i32:
    case DataType::u32: return f(Tag<std::uint32_t>{});
    case DataType::i64:
    case DataType::u64: return f(Tag<std::uint64_t>{});
    case DataType::f64: return f(Tag<double>{});
    case DataType::f16: return f(Tag<f16>{});
    case DataType::bf16: return f(Tag<bf16>{});
    default: return f(Tag<float>{});
  }
}
template <class F>
void dispatch_integers(DataType type, F f) {
  switch (type) {
    case DataType::i8: return f(Tag<std::int8_t>{});
    case DataType::u8: return f(Tag<std::uint8_t>{});
    case DataType::i32: return f(Tag<std::int32_t>{});
    case DataType::u32: return f(Tag<std::uint32_t>{});
    case DataType::i64: return f(Tag<std::int64_t>{});
    default: return f(Tag<std::uint64_t>{});
  }
}
template <class F>
void dispatch_8_bit_floats(ncclDataType_t type, F f) {
  type == ncclFloat8e4m3 ? f(Tag<__nv_fp8_e4m3>{}) : f(Tag<__nv_fp8_e5m2>{});
}

unsigned blocks_for(std::size_t count) {
  const std::size_t blocks = (count + kThreads - 1) / kThreads;
  return blocks < kMostBlocks ? static_cast<unsigned>(blocks) : kMostBlocks;
}

template <class T>
T scalar_of(const Scaling& scaling) {
  T scalar;
  memcpy(&scalar, &scaling.bits, sizeof scalar);
  return scalar;
}

void load(const void* kernel) {
  cudaFuncAttributes attributes;
  check(cudaFuncGetAttributes(&attributes, kernel), "loading a kernel");
}

}  // namespace

void load_element_kernels() {
  for (int each = 0; each < kDataTypes; ++each) {
    const auto type = static_cast<DataType>(each);
    dispatch_products(
        type, [](auto tag) { load(reinterpret_cast<const void*>(scale_elements<typename decltype(tag)::type>)); });
    dispatch_integers(
        type, [](auto tag) { load(reinterpret_cast<const void*>(divide_elements<typename decltype(tag)::type>)); });
  }
  for (const ncclDataType_t type : {ncclFloat8e4m3, ncclFloat8e5m2})
    dispatch_8_bit_floats(type, [](auto tag) {
      load(reinterpret_cast<const void*>(widen_elements<typename decltype(tag)::type>));
      load(reinterpret_cast<const void*>(narrow_elements<typename decltype(tag)::type>));
    });
}

void scale(const Scaling& scaling, const void* from, void* to, std::size_t count, cudaStream_t stream) {
  dispatch_products(computed_type(scaling.type), [&](auto tag) {
    using T = typename decltype(tag)::type;
    check(start(scale_elements<T>, blocks_for(count), kThreads, stream, static_cast<T*>(to),
                static_cast<const T*>(from), count, static_cast<const T*>(scaling.in_memory), scalar_of<T>(scaling)),
          "multiplying by a scalar");
  });
}

void divide(DataType type, void* elements, std::size_t count, unsigned divisor, cudaStream_t stream) {
  dispatch_integers(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    check(start(divide_elements<T>, blocks_for(count), kThreads, stream, static_cast<T*>(elements), count,
                static_cast<T>(divisor)),
          "dividing by the number of ranks");
  });
}

void widen(ncclDataType_t type, const void* from, void* to, std::size_t count, const Scaling* scaling,
           cudaStream_t stream) {
  dispatch_8_bit_floats(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* const in_memory = scaling ? static_cast<const T*>(scaling->in_memory) : nullptr;
    check(start(widen_elements<T>, blocks_for(count), kThreads, stream, static_cast<__half*>(to),
                static_cast<const T*>(from), count, in_memory, scaling ? scalar_of<T>(*scaling) : T(1.0f)),
          "widening to f16");
  });
}

void narrow(ncclDataType_t type, const void* from, void* to, std::size_t count, cudaStream_t stream) {
  dispatch_8_bit_floats(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    check(start(narrow_elements<T>, blocks_for(count), kThreads, stream, static_cast<T*>(to),
                static_cast<const __half*>(from), count),
          "narrowing from f16");
  });
}

}  // namespace tutti::nccl_interface
