// SHA-256 (FIPS 180-4), to know that a data set is the one we mean. Own code: none of tutti's libraries has it, and a
// cryptographic library is a heavy dependency for one digest.
#pragma once
#include <cstdint>
#include <span>
#include <string>

namespace tutti::trainers {

/// The digest of `bytes` as 64 lower-case hexadecimal digits.
std::string sha256(std::span<const std::uint8_t> bytes);

}  // namespace tutti::trainers
