// Calls of functions.
#pragma once
#include <string_view>
#include <unordered_map>

#include "tests/emulator/ptx/parse_resolve.hpp"

namespace tutti::emulator {

/// Sizes of what a function is given and gives back.
struct Signature {
  std::vector<Extent> parameters, results;
};

/// By the label of a .callprototype.
using Prototypes = std::unordered_map<std::string_view, Signature>;

/// Reads `(.param .b32 a, .param .b64 b)`; the names may be `_`. Adds names and symbols to `named` if it is there, with
/// offsets that begin at `bytes`.
std::vector<Extent> parse_parameters(Lexer& lexer, std::uint32_t& bytes, const Symbol& kind,
                                     std::vector<NamedSymbol>* named);

/// Reads what follows `.callprototype`, with the semicolon.
Signature parse_prototype(Lexer& lexer);

/// Reads what follows `call`, with the semicolon.
CallSite parse_call(Lexer& lexer, const ModuleNames& names, const Prototypes& prototypes, Resolver& resolver);

}  // namespace tutti::emulator
