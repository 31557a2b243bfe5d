#include "collectives/mpi_average.hpp"

#include "kernels/arithmetic.hpp"

namespace tutti {

DataType sum_type(DataType type) {
  return dispatch(type, [](auto tag) { return data_type_v<Accumulator<typename decltype(tag)::type, true>>; });
}

void widen_all(DataType type, const void* in, void* wide, std::size_t count) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = Accumulator<T, true>;
    for (std::size_t i = 0; i < count; ++i) {
      T element;  // callers' pointers may be misaligned
      std::memcpy(&element, static_cast<const char*>(in) + i * sizeof(T), sizeof(T));
      static_cast<A*>(wide)[i] = widen<A>(element);
    }
  });
}

void divide_all(DataType type, const void* wide, void* out, std::size_t count, int ranks) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = Accumulator<T, true>;
    for (std::size_t i = 0; i < count; ++i) {
      A sum;
      std::memcpy(&sum, static_cast<const char*>(wide) + i * sizeof(A), sizeof(A));
      const T element = finish<T>(sum, static_cast<std::uint32_t>(ranks));
      std::memcpy(static_cast<char*>(out) + i * sizeof(T), &element, sizeof(T));
    }
  });
}

}  // namespace tutti
