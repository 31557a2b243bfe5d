#include "tests/emulator/ptx/fatbin_decompress.hpp"

#include <fmt/format.h>
#include <lz4.h>
#include <zstd.h>

#include <stdexcept>

namespace tutti::emulator {
namespace {

// The kernels of a program have megabytes of PTX; a damaged header must not ask for all memory.
constexpr std::uint64_t kMost = std::uint64_t{1} << 30;

std::string room_for(std::uint64_t bytes) {
  if (bytes > kMost)
    throw std::runtime_error(fmt::format("embedded GPU code of {} bytes, the most is {}", bytes, kMost));
  return std::string(static_cast<std::size_t>(bytes), '\0');
}

}  // namespace

std::string decompress_lz4(std::string_view compressed, std::uint64_t bytes) {
  std::string found = room_for(bytes);
  const int size = LZ4_decompress_safe(compressed.data(), found.data(), static_cast<int>(compressed.size()),
                                       static_cast<int>(found.size()));
  if (size < 0 || static_cast<std::size_t>(size) != found.size())
    throw std::runtime_error(fmt::format("embedded GPU code is damaged: LZ4 gives {} of {} bytes", size, bytes));
  return found;
}

std::string decompress_zstd(std::string_view compressed, std::uint64_t bytes) {
  std::string found = room_for(bytes);
  const std::size_t size = ZSTD_decompress(found.data(), found.size(), compressed.data(), compressed.size());
  if (ZSTD_isError(size))
    throw std::runtime_error(fmt::format("embedded GPU code is damaged: zstd says {}", ZSTD_getErrorName(size)));
  if (size != found.size())
    throw std::runtime_error(fmt::format("embedded GPU code is damaged: zstd gives {} of {} bytes", size, bytes));
  return found;
}

}  // namespace tutti::emulator
