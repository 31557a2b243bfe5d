// Compressed entries of fatbin containers, and how containers begin.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tutti::emulator {

inline constexpr std::uint32_t kFatbinMagic = 0xba55ed50;

/// Bytes of the container that `from` begins with. Throws std::runtime_error if it is none or not whole.
std::size_t container_bytes(std::string_view from);

/// Both throw std::runtime_error if the result has not exactly `bytes` bytes.
std::string decompress_lz4(std::string_view compressed, std::uint64_t bytes);
std::string decompress_zstd(std::string_view compressed, std::uint64_t bytes);

}  // namespace tutti::emulator
