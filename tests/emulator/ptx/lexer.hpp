// Words and marks of a PTX text.
#pragma once
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tutti::emulator {

/// Reads a text from front to back; spaces and comments are between, not part of, what it reads. Throws
/// std::runtime_error that says what was expected and what stands there; the caller knows where (line()).
class Lexer {
 public:
  /// The part [begin, end) of `text`; `line` is that of its first character.
  Lexer(std::string_view text, std::size_t begin, std::size_t end, std::uint32_t line)
      : text_(text.substr(0, end)), at_(begin), line_(line) {}

  bool done() { return peek() == '\0'; }
  /// The next character, '\0' at the end.
  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) expected(std::string{'\'', c, '\''});
  }
  /// A directive, mnemonic, name or number: letters, digits, `_ $ % .` and `::`. Empty if another mark stands there.
  std::string_view word();
  /// The same, but it must be there; `what` names it for the message.
  std::string_view word(std::string_view what);
  /// A dot and a name, such as `.reg` of `.reg.b32`; it must be there.
  std::string_view directive();
  /// Whether a word stands next; it is read if so.
  bool take(std::string_view word);
  /// Text between double quotes.
  std::string_view string();
  /// The end of a number such as 1.5e-7, whose exponent's sign ends the word.
  std::string_view with_exponent(std::string_view word);

  /// Whether these characters stand right here; peek() first to be behind spaces.
  bool starts_with(std::string_view mark) const { return text_.substr(at_).starts_with(mark); }
  void skip(std::size_t characters) { at_ += characters; }

  std::uint32_t line() const { return line_; }
  std::size_t position() const { return at_; }
  /// Goes on behind the brace that closes the one just read. Returns the position of that brace.
  std::size_t skip_braces();
  [[noreturn]] void expected(std::string_view what);

 private:
  void skip_space();
  bool skip_comment();

  std::string_view text_;
  std::size_t at_;
  std::uint32_t line_;
};

}  // namespace tutti::emulator
