#include "tests/emulator/litmus/tokens.hpp"

#include <fmt/format.h>

#include <cctype>
#include <stdexcept>

namespace tutti::emulator::litmus {
namespace {

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool in_word(char c) { return is_letter(c) || is_digit(c) || c == '.'; }

}  // namespace

Tokens::Tokens(std::string_view line, std::string where) : where_(std::move(where)) {
  line = line.substr(0, line.find("//"));
  for (std::size_t i = 0; i < line.size();) {
    if (std::isspace(static_cast<unsigned char>(line[i])) != 0) {
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    if (in_word(line[i])) {
      while (end < line.size() && in_word(line[end])) ++end;
      // A hyphen within a word: race-free.
      if (line.substr(i, end - i) == "race" && line.substr(end, 5) == "-free") end += 5;
    } else if (const std::string_view two = line.substr(i, 2);
               two == "==" || two == "!=" || two == "<=" || two == ">=" || two == "&&" || two == "||") {
      end = i + 2;
    }
    words_.emplace_back(line.substr(i, end - i));
    i = end;
  }
}

const std::string& Tokens::peek() const {
  static const std::string nothing;
  return done() ? nothing : words_[next_];
}

std::string Tokens::take() {
  if (done()) fail("the line ends too early");
  return words_[next_++];
}

bool Tokens::accept(std::string_view word) {
  if (peek() != word) return false;
  ++next_;
  return true;
}

void Tokens::expect(std::string_view word) {
  if (!accept(word)) fail(fmt::format("expected '{}', got '{}'", word, peek()));
}

std::string Tokens::take_name(std::string_view what) {
  if (done() || !is_letter(peek().front())) fail(fmt::format("expected {}, got '{}'", what, peek()));
  return take();
}

bool Tokens::next_is_number() const { return !done() && is_digit(peek().front()); }

std::uint64_t Tokens::take_number(std::string_view what) {
  if (!next_is_number()) fail(fmt::format("expected {}, got '{}'", what, peek()));
  const std::string word = take();
  std::size_t used = 0;
  std::uint64_t number = 0;
  try {
    number = std::stoull(word, &used, 0);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used != word.size()) fail(fmt::format("'{}' is not a number", word));
  return number;
}

void Tokens::end() {
  if (!done()) fail(fmt::format("unexpected '{}'", peek()));
}

void Tokens::fail(const std::string& what) const { throw std::runtime_error(fmt::format("{}: {}", where_, what)); }

}  // namespace tutti::emulator::litmus
