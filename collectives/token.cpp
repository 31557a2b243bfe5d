#include "collectives/token.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "collectives/error.hpp"

namespace tutti {

Token random_token() {
  Token token;
  if (::getrandom(token.data(), token.size(), 0) != static_cast<ssize_t>(token.size())) {
    throw Error(ErrorCode::system, fmt::format("getrandom: {}", std::strerror(errno)));
  }
  return token;
}

std::string to_hex(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::optional<Token> token_from_hex(std::string_view text) {
  Token token;
  if (text.size() != 2 * token.size()) return std::nullopt;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const char* const digits = text.data() + 2 * i;
    const auto [end, error] = std::from_chars(digits, digits + 2, token[i], 16);
    if (error != std::errc() || end != digits + 2) return std::nullopt;
  }
  return token;
}

}  // namespace tutti
