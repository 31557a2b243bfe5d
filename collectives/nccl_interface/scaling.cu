#include "collectives/nccl_interface/results.hpp"
#include "collectives/nccl_interface/scaling.hpp"
#include "kernels/arithmetic.hpp"

namespace tutti::nccl_interface {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kMostBlocks = 64;

/// Rounds once, as a multiplication in T does.
template <class T>
__global__ void scale_elements(T* to, const T* from, std::size_t count, const T* in_memory, T immediate) {
  using A = Accumulator<T>;
  const A scalar = widen<A>(in_memory ? *in_memory : immediate);
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    to[i] = finish<T>(combine<ReduceOp::prod>(widen<A>(from[i]), scalar), 1);
}

/// Calls f(Tag<T>{}) with the type that computes the same as `type`: products that wrap know no sign.
template <class F>
auto dispatch_products(DataType type, F f) {
  switch (type) {
    case DataType::i8: return f(Tag<std::uint8_t>{});
    case DataType::i32: return f(Tag<std::uint32_t>{});
    case DataType::i64: return f(Tag<std::uint64_t>{});
    case DataType::f64: return f(Tag<double>{});
    case DataType::f16: return f(Tag<f16>{});
    case DataType::bf16: return f(Tag<bf16>{});
    case DataType::u8: return f(Tag<std::uint8_t>{});
    case DataType::u32: return f(Tag<std::uint32_t>{});
    case DataType::u64: return f(Tag<std::uint64_t>{});
    default: return f(Tag<float>{});
  }
}

}  // namespace

void load_scaling() {
  for (int type = 0; type < kDataTypes; ++type)
    dispatch_products(static_cast<DataType>(type), [](auto tag) {
      cudaFuncAttributes attributes;
      check(cudaFuncGetAttributes(&attributes,
                                  reinterpret_cast<const void*>(scale_elements<typename decltype(tag)::type>)),
            "loading the scaling kernels");
    });
}

void scale(const Scaling& scaling, const void* from, void* to, std::size_t count, cudaStream_t stream) {
  if (count == 0) return;
  const std::size_t blocks = (count + kThreads - 1) / kThreads;
  dispatch_products(scaling.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T immediate;
    memcpy(&immediate, &scaling.bits, sizeof immediate);
    scale_elements<<<static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks), kThreads, 0, stream>>>(
        static_cast<T*>(to), static_cast<const T*>(from), count, static_cast<const T*>(scaling.in_memory), immediate);
  });
  check(cudaGetLastError(), "multiplying by a scalar");
}

}  // namespace tutti::nccl_interface
