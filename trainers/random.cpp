#include "trainers/random.hpp"

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace tutti::trainers {
namespace {

std::array<std::uint32_t, 4> draw(std::uint64_t seed, Purpose purpose, std::uint32_t a, std::uint32_t b,
                                  std::uint32_t c) {
  return philox({c, b, a, static_cast<std::uint32_t>(purpose)},
                {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
}

std::uint64_t join(std::uint32_t high, std::uint32_t low) { return (static_cast<std::uint64_t>(high) << 32) | low; }

/// In (0, 1): never 0, so that its logarithm is finite.
double open_unit(std::uint64_t bits) { return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53; }

}  // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> x, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * x[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * x[2];
    x = {static_cast<std::uint32_t>(p1 >> 32) ^ x[1] ^ key[0], static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ x[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return x;
}

double normal_at(std::uint64_t seed, Purpose purpose, std::uint32_t layer, std::uint32_t row, std::uint32_t column) {
  const auto x = draw(seed, purpose, layer, row, column);
  return std::sqrt(-2 * std::log(open_unit(join(x[0], x[1])))) *
         std::cos(2 * std::numbers::pi * open_unit(join(x[2], x[3])));
}

void epoch_order(std::uint64_t seed, int epoch, std::vector<std::uint32_t>& order) {
  std::iota(order.begin(), order.end(), 0u);
  for (std::size_t i = order.size(); i > 1; --i) {
    // The bias of `% i` is below 2^-32 for any data set whose order fits 32 bits.
    const auto x = draw(seed, Purpose::shuffle, static_cast<std::uint32_t>(epoch), 0, static_cast<std::uint32_t>(i));
    std::swap(order[i - 1], order[join(x[0], x[1]) % i]);
  }
}

}  // namespace tutti::trainers
