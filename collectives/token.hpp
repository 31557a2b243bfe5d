// Random numbers that nobody can guess: who brings one back was told it.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tutti {

using Token = std::array<std::uint8_t, 16>;

/// Throws ErrorCode::system if the kernel gives none.
Token random_token();

std::string to_hex(std::span<const std::uint8_t> bytes);
/// nullopt unless `text` is 32 hexadecimal digits.
std::optional<Token> token_from_hex(std::string_view text);

}  // namespace tutti
