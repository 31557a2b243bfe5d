#include "tests/emulator/ptx/parse_call.hpp"

#include <fmt/format.h>

namespace tutti::emulator {
namespace {

/// Names of parameters in parentheses, the first of which is read.
std::vector<Extent> parse_names(Lexer& lexer, const Resolver& resolver) {
  std::vector<Extent> extents;
  if (lexer.take(')')) return extents;
  do {
    const std::string_view name = lexer.word("a parameter");
    const Symbol* const symbol = resolver.symbol(name);
    if (!symbol || symbol->of != Constant::Of::local)
      throw std::runtime_error(fmt::format("'{}' is no .param variable: calls pass nothing else here", name));
    extents.push_back(symbol->extent);
  } while (lexer.take(','));
  lexer.expect(')');
  return extents;
}

void check(const std::vector<Extent>& given, const std::vector<Extent>& wanted, std::string_view what) {
  if (given.size() != wanted.size())
    throw std::runtime_error(fmt::format("a call with {} {}, the function has {}", given.size(), what, wanted.size()));
  for (std::size_t k = 0; k < given.size(); ++k)
    if (given[k].bytes != wanted[k].bytes)
      throw std::runtime_error(
          fmt::format("a call with {} {} of {} bytes, the function has {}", what, k, given[k].bytes, wanted[k].bytes));
}

}  // namespace

std::vector<Extent> parse_parameters(Lexer& lexer, std::uint32_t& bytes, const Symbol& kind,
                                     std::vector<NamedSymbol>* named) {
  std::vector<Extent> extents;
  lexer.expect('(');
  if (lexer.take(')')) return extents;
  do {
    if (!lexer.take(".param")) lexer.expected(".param: the emulator knows no parameters in registers");
    const Declaration declaration = parse_declaration(lexer);
    if (declaration.open) throw std::runtime_error(fmt::format("the parameter '{}' has no size", declaration.name));
    extents.push_back(placed(declaration, bytes));
    if (!named) continue;
    named->push_back({declaration.name, kind});
    named->back().symbol.extent = extents.back();
  } while (lexer.take(','));
  lexer.expect(')');
  return extents;
}

Signature parse_prototype(Lexer& lexer) {
  Signature signature;
  std::uint32_t bytes = 0;
  if (lexer.peek() == '(') signature.results = parse_parameters(lexer, bytes, {}, nullptr);
  if (!lexer.take("_")) lexer.expected("_");
  bytes = 0;
  if (lexer.peek() == '(') signature.parameters = parse_parameters(lexer, bytes, {}, nullptr);
  lexer.take(".noreturn");
  lexer.expect(';');
  return signature;
}

CallSite parse_call(Lexer& lexer, const ModuleNames& names, const Prototypes& prototypes, Resolver& resolver) {
  CallSite call;
  if (lexer.take('(')) {
    call.results = parse_names(lexer, resolver);
    lexer.expect(',');
  }
  const std::string_view callee = lexer.word("a function");
  bool more = lexer.take(',');
  if (more && lexer.take('(')) {
    call.arguments = parse_names(lexer, resolver);
    more = lexer.take(',');
  }
  if (const std::optional<Slot> through = resolver.register_of(callee, Type::u64)) {
    call.through = *through;
    if (!more) lexer.expected("the prototype of an indirect call");
    const std::string_view label = lexer.word("a prototype");
    const auto prototype = prototypes.find(label);
    if (prototype == prototypes.end()) throw std::runtime_error(fmt::format("unknown prototype '{}'", label));
    check(call.arguments, prototype->second.parameters, "argument");
    check(call.results, prototype->second.results, "result");
  } else {
    const auto symbol = names.symbols.find(callee);
    if (symbol == names.symbols.end() || symbol->second.of != Constant::Of::function)
      throw std::runtime_error(fmt::format("unknown function '{}'", callee));
    const Function& function = *names.functions[symbol->second.index];
    if (function.entry) throw std::runtime_error(fmt::format("a call of the kernel '{}'", callee));
    check(call.arguments, function.parameters, "argument");
    check(call.results, function.results, "result");
    call.callee = callee;
  }
  lexer.expect(';');
  return call;
}

}  // namespace tutti::emulator
