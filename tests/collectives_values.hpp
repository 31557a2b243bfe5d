// Inputs of collectives whose every sum and product is exact in every type, and what scalar code makes of them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/half.hpp"

namespace tutti::test {

/// Values repeat after a prime number of elements, so that data moved by a line, a slice or a chunk does not fit.
inline constexpr std::size_t kPeriod = 509;

template <class T>
inline constexpr bool is_half = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;

/// A whole number as an element: scaled up in wide types so that all their bytes matter, wrapped in narrow ones.
template <class T>
T element_of(std::int64_t number) {
  if constexpr (is_half<T>) {
    return from_float<T>(static_cast<float>(number));
  } else {
    return static_cast<T>(number);
  }
}

/// What wide types scale by. Sixteen ranks' sums of numbers below 32 stay exact.
template <class T>
constexpr std::int64_t scale_of() {
  if constexpr (is_half<T> || sizeof(T) == 1) return 1;
  if constexpr (std::is_same_v<T, float>) return 257;
  if constexpr (sizeof(T) == 4) return 65537;
  if constexpr (std::is_same_v<T, double>) return (1 << 20) + 1;
  return (std::int64_t{1} << 40) + 1;
}

template <class T>
std::int64_t input_number(int rank, std::size_t i, ReduceOp op, unsigned salt) {
  constexpr bool has_sign = is_half<T> || std::is_signed_v<T>;
  std::uint64_t mix = (i + 1) * 0x9e3779b97f4a7c15u ^ (static_cast<std::uint64_t>(rank) + 1) * 0xd6e8feb86659fd93u;
  mix ^= static_cast<std::uint64_t>(salt) * 0xff51afd7ed558ccdu;
  mix = (mix ^ mix >> 29) * 0xbf58476d1ce4e5b9u;
  const auto draw = static_cast<std::int64_t>(mix >> 40);
  switch (op) {
    case ReduceOp::prod: {
      const std::int64_t size = 1 + draw % 2;
      return has_sign && draw & 2 ? -size : size;
    }
    case ReduceOp::min:
    case ReduceOp::max: return has_sign ? draw % 201 - 100 : draw % 201;
    case ReduceOp::avg:
      if (sizeof(T) == 1) return has_sign ? draw % 50 + 78 : draw % 50 + 206;  // the sum exceeds the type
      break;
    default: break;
  }
  return (has_sign ? draw % 31 - 15 : draw % 31) * scale_of<T>();
}

/// What `op` makes of the whole numbers of `ranks` ranks; avg divides in the type, integers toward zero.
template <class T>
T reduced_element(const std::int64_t* numbers, int ranks, ReduceOp op) {
  std::int64_t all = numbers[0];
  for (int r = 1; r < ranks; ++r) {
    switch (op) {
      case ReduceOp::prod: all *= numbers[r]; break;
      case ReduceOp::min: all = std::min(all, numbers[r]); break;
      case ReduceOp::max: all = std::max(all, numbers[r]); break;
      default: all += numbers[r];
    }
  }
  if (op != ReduceOp::avg) return element_of<T>(all);
  if constexpr (is_half<T>) {
    return from_float<T>(static_cast<float>(all) / static_cast<float>(ranks));
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(all / ranks);
  } else {
    return static_cast<T>(all) / static_cast<T>(ranks);
  }
}

/// One period, or less if a test needs less, of every rank's input and of the reduction over them, as bytes.
struct Values {
  Values() = default;
  Values(DataType type, ReduceOp op, int ranks, std::size_t elements, unsigned salt)
      : period(std::min(elements, kPeriod)), inputs(static_cast<std::size_t>(ranks)) {
    dispatch(type, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (auto& input : inputs) input.resize(period * sizeof(T));
      reduced.resize(period * sizeof(T));
      std::vector<std::int64_t> numbers(inputs.size());
      for (std::size_t i = 0; i < period; ++i) {
        for (std::size_t r = 0; r < inputs.size(); ++r) {
          numbers[r] = input_number<T>(static_cast<int>(r), i, op, salt);
          const T value = element_of<T>(numbers[r]);
          std::memcpy(inputs[r].data() + i * sizeof(T), &value, sizeof value);
        }
        const T value = reduced_element<T>(numbers.data(), ranks, op);
        std::memcpy(reduced.data() + i * sizeof(T), &value, sizeof value);
      }
    });
  }

  std::size_t period = 0;
  std::vector<std::vector<char>> inputs;  ///< [rank]
  std::vector<char> reduced;
};

/// Writes elements [first, first + count) of a pattern that repeats.
inline void paint(char* to, const std::vector<char>& pattern, std::size_t first, std::size_t count, std::size_t width) {
  if (count == 0) return;
  std::size_t at = first * width % pattern.size(), left = count * width;
  while (left > 0) {
    const std::size_t now = std::min(left, pattern.size() - at);
    std::memcpy(to, pattern.data() + at, now);
    to += now;
    left -= now;
    at = 0;
  }
}

inline std::string print_element(const char* bytes, DataType type) {
  return dispatch(type, [&](auto tag) {
    typename decltype(tag)::type value;
    std::memcpy(&value, bytes, sizeof value);
    if constexpr (is_half<decltype(value)>) {
      return std::to_string(to_float(value));
    } else {
      return std::to_string(value);
    }
  });
}

}  // namespace tutti::test
