#include "bench/pattern.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tutti::bench {
namespace {

std::uint64_t mix(std::uint64_t x) {  // splitmix64's finaliser
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::int64_t random_below(std::int64_t bound, int rank, std::size_t index) {
  const std::uint64_t x = mix((static_cast<std::uint64_t>(rank) << 32) + index + 1);
  return static_cast<std::int64_t>(x % static_cast<std::uint64_t>(bound));
}

std::int64_t input_value(ReduceOp op, int ranks, int rank, std::size_t index) {
  const auto place =
      static_cast<std::int64_t>((static_cast<std::size_t>(rank) + index) % static_cast<std::size_t>(ranks));
  switch (op) {
    case ReduceOp::sum:  // sums stay below 256, the integers that bf16 holds
      return random_below(std::clamp<std::int64_t>(256 / ranks, 2, 7), rank, index);
    case ReduceOp::prod:  // a 2 and a 3 among ones, at ranks that change with the index
      return place == 0 ? 2 : place == 1 ? 3 : 1;
    case ReduceOp::avg:  // differences that cancel, around a value that all ranks share
      return 2 * place + random_below(3, 0, index);
    default: return random_below(100, rank, index);
  }
}

std::int64_t reduced_value(ReduceOp op, int ranks, std::size_t index) {
  std::int64_t result = input_value(op, ranks, 0, index);
  for (int rank = 1; rank < ranks; ++rank) {
    const std::int64_t value = input_value(op, ranks, rank, index);
    switch (op) {
      case ReduceOp::prod: result *= value; break;
      case ReduceOp::min: result = std::min(result, value); break;
      case ReduceOp::max: result = std::max(result, value); break;
      default: result += value; break;
    }
  }
  return op == ReduceOp::avg ? result / ranks : result;
}

// The bits of a small integer as `type`.
std::uint64_t encode(DataType type, std::int64_t value) {
  switch (type) {
    case DataType::f32: return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    case DataType::f64: return std::bit_cast<std::uint64_t>(static_cast<double>(value));
    case DataType::bf16: return std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16;
    case DataType::f16: {
      if (value == 0) return 0;
      const int exponent = std::bit_width(static_cast<std::uint64_t>(value)) - 1;  // <= 10: values are below 2048
      return (static_cast<std::uint64_t>(exponent + 15) << 10) |
             ((static_cast<std::uint64_t>(value) << (10 - exponent)) & 0x3ff);
    }
    default: return static_cast<std::uint64_t>(value);
  }
}

void store(std::vector<std::byte>& table, std::size_t size, std::size_t index, std::uint64_t bits) {
  std::memcpy(table.data() + index * size, &bits, size);  // little-endian
}

void tile(std::byte* data, std::size_t count, std::size_t size, const std::byte* table, std::size_t first) {
  std::size_t at = first % Pattern::kPeriod;
  while (count > 0) {
    const std::size_t n = std::min(count, Pattern::kPeriod - at);
    std::memcpy(data, table + at * size, n * size);
    data += n * size;
    count -= n;
    at = 0;
  }
}

std::uint64_t differing(const std::byte* data, std::size_t count, std::size_t size, const std::byte* table,
                        std::size_t first) {
  std::uint64_t wrong = 0;
  std::size_t at = first % Pattern::kPeriod;
  while (count > 0) {
    const std::size_t n = std::min(count, Pattern::kPeriod - at);
    if (std::memcmp(data, table + at * size, n * size) != 0)
      for (std::size_t i = 0; i < n; ++i) wrong += std::memcmp(data + i * size, table + (at + i) * size, size) != 0;
    data += n * size;
    count -= n;
    at = 0;
  }
  return wrong;
}

template <class F>
decltype(auto) with_word(std::size_t size, F&& f) {
  switch (size) {
    case 1: return f(std::uint8_t{});
    case 2: return f(std::uint16_t{});
    case 8: return f(std::uint64_t{});
    default: return f(std::uint32_t{});
  }
}

std::uint64_t differing_from_one(const void* data, std::size_t count, std::size_t size, const std::byte* element) {
  return with_word(size, [&](auto word) -> std::uint64_t {
    using Word = decltype(word);
    std::memcpy(&word, element, sizeof word);
    const auto* p = static_cast<const Word*>(data);
    Word difference = 0;
    for (std::size_t i = 0; i < count; ++i) difference = static_cast<Word>(difference | (p[i] ^ word));
    if (difference == 0) return 0;
    return static_cast<std::uint64_t>(count - static_cast<std::size_t>(std::count(p, p + count, word)));
  });
}

}  // namespace

Pattern::Pattern(DataType type, ReduceOp op, int ranks)
    : type_(type), size_(size_of(type)), inputs_(static_cast<std::size_t>(ranks)), results_(kPeriod * size_) {
  for (auto& table : inputs_) table.resize(kPeriod * size_);
  for (std::size_t i = 0; i < kPeriod; ++i) {
    for (int r = 0; r < ranks; ++r)
      store(inputs_[static_cast<std::size_t>(r)], size_, i, encode(type, input_value(op, ranks, r, i)));
    store(results_, size_, i, encode(type, reduced_value(op, ranks, i)));
  }
}

void Pattern::fill_input(void* data, std::size_t count, int rank, std::size_t first) const {
  tile(static_cast<std::byte*>(data), count, size_, inputs_[static_cast<std::size_t>(rank)].data(), first);
}

std::uint64_t Pattern::wrong_inputs(const void* data, std::size_t count, int rank, std::size_t first) const {
  return differing(static_cast<const std::byte*>(data), count, size_, inputs_[static_cast<std::size_t>(rank)].data(),
                   first);
}

std::uint64_t Pattern::wrong_results(const void* data, std::size_t count, std::size_t first) const {
  return differing(static_cast<const std::byte*>(data), count, size_, results_.data(), first);
}

void Pattern::fill_constant(void* data, std::size_t count, int rank, std::size_t index) const {
  const std::byte* element = inputs_[static_cast<std::size_t>(rank)].data() + index * size_;
  with_word(size_, [&](auto word) {
    using Word = decltype(word);
    std::memcpy(&word, element, sizeof word);
    auto* p = static_cast<Word*>(data);
    for (std::size_t i = 0; i < count; ++i) p[i] = word;
  });
}

std::uint64_t Pattern::wrong_constants(const void* data, std::size_t count, int rank, std::size_t index) const {
  return differing_from_one(data, count, size_, inputs_[static_cast<std::size_t>(rank)].data() + index * size_);
}

std::uint64_t Pattern::wrong_constant_results(const void* data, std::size_t count, std::size_t index) const {
  return differing_from_one(data, count, size_, results_.data() + index * size_);
}

}  // namespace tutti::bench
