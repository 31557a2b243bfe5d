// The body of a function: statements between braces.
#pragma once
#include <span>
#include <string_view>

#include "tests/emulator/ptx/parse_resolve.hpp"

namespace tutti::emulator {

/// Something wrong in a text, with the line where it is.
struct TextError : std::runtime_error {
  TextError(std::uint32_t at, const std::string& what) : std::runtime_error(what), line(at) {}
  std::uint32_t line;
};

struct BodyText {
  std::string_view text;   ///< of the module
  std::size_t begin, end;  ///< of the body in it, without its braces
  std::uint32_t line;      ///< of its begin
};

/// Fills in the code of `function`, whose header is there. Throws TextError.
void parse_body(const ModuleNames& names, std::span<const NamedSymbol> parameters, const BodyText& body,
                Function& function);

}  // namespace tutti::emulator
