// Declarations of variables and parameters.
#pragma once
#include <optional>

#include "tests/emulator/ptx/lexer.hpp"
#include "tests/emulator/ptx/program.hpp"

namespace tutti::emulator {

struct Declaration {
  std::string_view name;
  Type type = Type::none;
  std::uint32_t bytes = 0, alignment = 1;
  bool open = false;  ///< [] without a number
};

/// Reads what follows the state space: `.align 8 .b8 name[16]`. The name may be `_`.
Declaration parse_declaration(Lexer& lexer);

/// Puts an extent of the declaration's size behind `bytes`, which grows.
Extent placed(const Declaration& declaration, std::uint32_t& bytes);

/// Reads a variable of global or constant memory with its initial value, up to the semicolon.
Variable parse_variable(Lexer& lexer, Space space, bool external);

}  // namespace tutti::emulator
