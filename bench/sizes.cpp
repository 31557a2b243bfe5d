#include "bench/sizes.hpp"

#include <fmt/core.h>

#include <cmath>
#include <limits>

namespace tutti::bench {

std::optional<std::size_t> parse_size(std::string_view text) {
  std::size_t unit = 1;
  if (!text.empty()) {
    switch (text.back()) {
      case 'K':
      case 'k': unit = std::size_t{1} << 10; break;
      case 'M':
      case 'm': unit = std::size_t{1} << 20; break;
      case 'G':
      case 'g': unit = std::size_t{1} << 30; break;
      default: break;
    }
  }
  if (unit > 1) text.remove_suffix(1);
  if (text.empty()) return std::nullopt;
  constexpr std::size_t most = std::numeric_limits<std::int64_t>::max();
  std::size_t value = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    const auto digit = static_cast<std::size_t>(c - '0');
    if (value > (most - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  if (value > most / unit) return std::nullopt;
  return value * unit;
}

std::string exact_size(std::size_t bytes) {
  for (auto [unit, letter] : {std::pair{30, 'G'}, std::pair{20, 'M'}, std::pair{10, 'K'}})
    if (bytes >> unit && !(bytes & ((std::size_t{1} << unit) - 1))) return fmt::format("{}{}", bytes >> unit, letter);
  return fmt::format("{}", bytes);
}

std::string readable_bytes(double bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 6) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 || bytes == std::floor(bytes) ? fmt::format("{:.0f} {}", bytes, units[unit])
                                                 : fmt::format("{:.1f} {}", bytes, units[unit]);
}

std::string readable_duration(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.2f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

std::vector<std::size_t> SizeRange::sizes(std::size_t limit) const {
  std::vector<std::size_t> result;
  for (std::size_t size = first; size <= last && result.size() <= limit;) {
    result.push_back(size);
    if (step > 0) {
      if (last - size < step) break;
      size += step;
    } else {
      const double next = std::floor(static_cast<double>(size) * factor);
      if (next > static_cast<double>(last)) break;
      size = std::max(size + 1, static_cast<std::size_t>(next));
    }
  }
  return result;
}

std::size_t least_bytes(const Case& shape) {
  return size_of(shape.type) * (shape.spreads() ? static_cast<std::size_t>(shape.ranks) : 1);
}

Case case_of(std::size_t bytes, Case shape) {
  if (shape.operation == Operation::barrier) {
    shape.bytes = shape.count = 0;
    return shape;
  }
  shape.count = bytes / least_bytes(shape);
  shape.bytes = shape.count * least_bytes(shape);
  return shape;
}

}  // namespace tutti::bench
