// The operands of an instruction as they are written, before names are looked up.
#pragma once
#include <array>

#include "tests/emulator/ptx/lexer.hpp"
#include "tests/emulator/ptx/parse_number.hpp"

namespace tutti::emulator {

struct Operand {
  enum class Of : std::uint8_t {
    name,     ///< `name`, or `name` + `offset`
    literal,  ///< `literal`
    sink,     ///< _
    vector,   ///< {...}: elements [first, first + count) of Operands
    address,  ///< [name + offset], or [literal]
  };
  Of of = Of::name;
  bool negated = false;     ///< !name
  bool of_literal = false;  ///< of an address
  std::uint8_t first = 0, count = 0;
  bool paired = false;  ///< name|second
  std::string_view name, second;
  Literal literal;
  std::int64_t offset = 0;
};

struct Operands {
  static constexpr std::size_t kMost = 16;
  std::array<Operand, kMost> items;     ///< [0, count)
  std::array<Operand, kMost> elements;  ///< of vectors
  std::size_t count = 0, element_count = 0;
};

/// Reads operands up to the semicolon, which is read too.
void parse_operands(Lexer& lexer, Operands& operands);

}  // namespace tutti::emulator
