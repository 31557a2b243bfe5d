#include "tests/nccl_programs/elements_cuda.hpp"

#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace nccl_programs {
namespace {

/// Calls f(T{}) with the C++ type of `type`.
template <class F>
auto with_type(ncclDataType_t type, F f) {
  switch (type) {
    case ncclInt8: return f(std::int8_t{});
    case ncclUint8: return f(std::uint8_t{});
    case ncclInt32: return f(std::int32_t{});
    case ncclUint32: return f(std::uint32_t{});
    case ncclInt64: return f(std::int64_t{});
    case ncclUint64: return f(std::uint64_t{});
    case ncclFloat16: return f(__half{});
    case ncclFloat32: return f(float{});
    case ncclFloat64: return f(double{});
    case ncclBfloat16: return f(__nv_bfloat16{});
    case ncclFloat8e4m3: return f(__nv_fp8_e4m3{});
    case ncclFloat8e5m2: return f(__nv_fp8_e5m2{});
    default: throw std::logic_error("a test names a type that it does not know");
  }
}

}  // namespace

std::size_t size_of(ncclDataType_t type) {
  return with_type(type, [](auto element) { return sizeof element; });
}

std::string name_of(ncclDataType_t type) {
  constexpr const char* names[] = {"int8", "uint8", "int32", "uint32", "int64",  "uint64",
                                   "f16",  "f32",   "f64",   "bf16",   "f8e4m3", "f8e5m2"};
  return names[type];
}

std::vector<std::byte> encode(ncclDataType_t type, std::span<const double> values) {
  return with_type(type, [&](auto element) {
    using T = decltype(element);
    std::vector<std::byte> elements(values.size() * sizeof(T));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const T value = static_cast<T>(static_cast<float>(values[i]));
      std::memcpy(elements.data() + i * sizeof(T), &value, sizeof(T));
    }
    return elements;
  });
}

std::vector<double> decode(ncclDataType_t type, std::span<const std::byte> elements) {
  return with_type(type, [&](auto element) {
    using T = decltype(element);
    std::vector<double> values(elements.size() / sizeof(T));
    for (std::size_t i = 0; i < values.size(); ++i) {
      T value;
      std::memcpy(&value, elements.data() + i * sizeof(T), sizeof(T));
      values[i] = static_cast<double>(static_cast<float>(value));
    }
    return values;
  });
}

}  // namespace nccl_programs
