// .loc: where in the program that was compiled an instruction stands.
#pragma once
#include <map>
#include <tuple>
#include <vector>

#include "tests/emulator/ptx/lexer.hpp"
#include "tests/emulator/ptx/program.hpp"

namespace tutti::emulator {

/// Collects the places of a function. Place 0 is "unknown".
class Places {
 public:
  Places() : places_(1) {}
  /// Reads what follows `.loc`.
  void parse(Lexer& lexer);
  std::uint32_t current() const { return current_; }
  std::vector<Place> take() { return std::move(places_); }

 private:
  using Position = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  ///< file, line, column
  std::uint32_t place_of(std::uint32_t file, std::uint32_t line, std::uint32_t within);

  std::vector<Place> places_;
  std::map<Position, std::uint32_t> latest_;  ///< place of the latest .loc of that position
  std::map<Position, std::uint32_t> known_;   ///< file, line, place that it is inlined at
  std::uint32_t current_ = 0;
};

}  // namespace tutti::emulator
