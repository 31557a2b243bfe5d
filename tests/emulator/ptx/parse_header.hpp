// The head of a function: name, parameters, and what it demands of a launch.
#pragma once
#include <vector>

#include "tests/emulator/ptx/parse_resolve.hpp"

namespace tutti::emulator {

struct Header {
  Function function;               ///< without code
  std::vector<NamedSymbol> names;  ///< of parameters and results
};

/// Reads what follows `.entry` or `.func`, up to the brace or semicolon, which is not read.
Header parse_header(Lexer& lexer, bool entry);

}  // namespace tutti::emulator
