// The words of one line of a litmus test, taken one after the other.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::emulator::litmus {

/// All functions throw std::runtime_error, naming file and line, if the line goes on differently.
class Tokens {
 public:
  Tokens(std::string_view line, std::string where);

  bool done() const { return next_ == words_.size(); }
  /// The next word without taking it; empty at the end.
  const std::string& peek() const;
  std::string take();
  /// Takes the word if it comes next.
  bool accept(std::string_view word);
  void expect(std::string_view word);
  /// Letters, digits, _ and dots, beginning with a letter.
  std::string take_name(std::string_view what);
  std::uint64_t take_number(std::string_view what);
  bool next_is_number() const;
  void end();
  [[noreturn]] void fail(const std::string& what) const;

 private:
  std::vector<std::string> words_;
  std::size_t next_ = 0;
  std::string where_;
};

}  // namespace tutti::emulator::litmus
