// Numbers in a PTX text, and expressions of them.
#pragma once
#include "tests/emulator/ptx/lexer.hpp"
#include "tests/emulator/ptx/types.hpp"

namespace tutti::emulator {

struct Literal {
  /// An integer; 0f and eight digits; 0d and sixteen digits, or a number with a decimal point.
  enum class Of : std::uint8_t { integer, single, twice } of = Of::integer;
  bool is_unsigned = false;  ///< of an integer: written with U, or too large for a signed one
  std::uint64_t bits = 0;
};

/// Whether a number or expression begins with this character.
bool begins_literal(char c);

/// A number or a constant expression as PTX has them: C's operators on 64-bit integers, parentheses, casts.
Literal parse_literal(Lexer& lexer);

/// A number with at most a sign before it, as in an address.
std::int64_t parse_offset(Lexer& lexer);

/// A number from `least` to `most`; `what` names it for the message.
std::uint32_t parse_count(Lexer& lexer, std::string_view what, std::uint32_t least, std::uint32_t most);

/// The bits of a literal where `type` is wanted; of an integer more than `type` has. Throws if it cannot stand there.
std::uint64_t bits_as(const Literal& literal, Type type);

}  // namespace tutti::emulator
