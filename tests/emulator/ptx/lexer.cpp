#include "tests/emulator/ptx/lexer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tutti::emulator {
namespace {

constexpr std::array<bool, 256> kWordCharacters = [] {
  std::array<bool, 256> in{};
  for (int c = '0'; c <= '9'; ++c) in[static_cast<std::size_t>(c)] = true;
  for (int c = 'a'; c <= 'z'; ++c) in[static_cast<std::size_t>(c)] = in[static_cast<std::size_t>(c - 'a' + 'A')] = true;
  for (const unsigned char c : {'_', '$', '%', '.'}) in[c] = true;
  return in;
}();
bool in_word(char c) { return kWordCharacters[static_cast<unsigned char>(c)]; }

/// What ends the search for a brace: braces, quotes, comments.
constexpr std::array<bool, 256> kBraceMarks = [] {
  std::array<bool, 256> in{};
  for (const unsigned char c : {'{', '}', '"', '/'}) in[c] = true;
  return in;
}();

}  // namespace

void Lexer::skip_space() {
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '\n') {
      ++line_;
    } else if (c == '/') {
      if (!skip_comment()) return;
    } else if (c != ' ' && c != '\t' && c != '\r') {
      return;
    }
  }
}

/// Goes to the last character of a comment, if one stands here.
bool Lexer::skip_comment() {
  const char kind = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
  if (kind == '/') {
    const std::size_t end = text_.find('\n', at_);
    at_ = end == std::string_view::npos ? text_.size() - 1 : end;
    if (end != std::string_view::npos) ++line_;
    return true;
  }
  if (kind != '*') return false;
  const std::size_t end = text_.find("*/", at_ + 2);
  if (end == std::string_view::npos) throw std::runtime_error("a comment without its end");
  line_ += static_cast<std::uint32_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                                 text_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
  at_ = end + 1;
  return true;
}

std::string_view Lexer::word() {
  skip_space();
  const std::size_t begin = at_;
  for (; at_ < text_.size(); ++at_) {
    if (in_word(text_[at_])) continue;
    if (text_[at_] != ':' || at_ == begin || at_ + 1 >= text_.size() || text_[at_ + 1] != ':') break;
    ++at_;
  }
  return text_.substr(begin, at_ - begin);
}

std::string_view Lexer::word(std::string_view what) {
  const std::string_view found = word();
  if (found.empty()) expected(what);
  return found;
}

std::string_view Lexer::directive() {
  if (peek() != '.') expected("a directive");
  const std::size_t begin = at_++;
  while (at_ < text_.size() && in_word(text_[at_]) && text_[at_] != '.') ++at_;
  return text_.substr(begin, at_ - begin);
}

bool Lexer::take(std::string_view wanted) {
  skip_space();
  const std::size_t at = at_;
  if (word() == wanted) return true;
  at_ = at;
  return false;
}

std::string_view Lexer::with_exponent(std::string_view number) {
  if (at_ >= text_.size() || (text_[at_] != '+' && text_[at_] != '-')) return number;
  const std::size_t begin = at_ - number.size();
  for (++at_; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9';) ++at_;
  return text_.substr(begin, at_ - begin);
}

std::string_view Lexer::string() {
  expect('"');
  const std::size_t end = text_.find_first_of("\"\n", at_);
  if (end == std::string_view::npos || text_[end] == '\n') throw std::runtime_error("a string without its end");
  const std::string_view found = text_.substr(at_, end - at_);
  at_ = end + 1;
  return found;
}

std::size_t Lexer::skip_braces() {
  const std::size_t begin = at_;
  std::size_t depth = 1, at = at_;
  for (; at < text_.size(); ++at) {
    if (!kBraceMarks[static_cast<unsigned char>(text_[at])]) continue;
    const char c = text_[at];
    if (c == '{') ++depth;
    if (c == '}' && --depth == 0) break;
    if (c == '"') at = std::min(text_.find('"', at + 1), text_.size() - 1);
    if (c != '/' || at + 1 == text_.size()) continue;
    if (text_[at + 1] == '/') at = std::min(text_.find('\n', at), text_.size() - 1);
    if (text_[at + 1] == '*') at = std::min(text_.find("*/", at), text_.size() - 2) + 1;
  }
  if (depth != 0) throw std::runtime_error("the text ends before the '}' for this '{'");
  line_ += static_cast<std::uint32_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(begin),
                                                 text_.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  at_ = at + 1;
  return at;
}

void Lexer::expected(std::string_view what) {
  const char next = peek();
  if (next == '\0') throw std::runtime_error(fmt::format("the text ends where {} is expected", what));
  const std::size_t at = at_;
  const std::string_view there = word();
  at_ = at;
  throw std::runtime_error(fmt::format("expected {}, got '{}'", what, there.empty() ? text_.substr(at, 1) : there));
}

}  // namespace tutti::emulator
