#include "tests/emulator/ptx/parse_header.hpp"

#include <fmt/format.h>

#include "tests/emulator/ptx/parse_call.hpp"

namespace tutti::emulator {
namespace {

constexpr std::uint32_t kMost = 0x7fffffff;

/// Up to three numbers, multiplied.
std::uint32_t parse_dimensions(Lexer& lexer, std::string_view what) {
  std::uint64_t product = 1;
  int count = 0;
  do {
    product *= parse_count(lexer, what, 1, kMost);
    if (++count > 3 || product > kMost) throw std::runtime_error(fmt::format("{} are too many", what));
  } while (lexer.take(','));
  return static_cast<std::uint32_t>(product);
}

void parse_directive(Lexer& lexer, std::string_view word, Function& function) {
  if (word == ".maxntid" || word == ".reqntid") {
    function.max_threads = parse_dimensions(lexer, "threads");
  } else if (word == ".minnctapersm") {
    function.min_blocks = parse_count(lexer, "blocks", 1, kMost);
  } else if (word == ".maxnctapersm" || word == ".maxnreg" || word == ".maxclusterrank") {
    parse_count(lexer, word, 1, kMost);
  } else if (word == ".reqnctapercluster") {
    if (parse_dimensions(lexer, "blocks of a cluster") != 1)
      throw std::runtime_error("clusters of more than one block, which the emulator does not have");
  } else if (word == ".explicitcluster") {
    // Without a size in the text it is given at the launch.
  } else if (word == ".abi_preserve" || word == ".abi_preserve_control") {
    parse_count(lexer, word, 0, kMost);
  } else if (word == ".pragma") {
    lexer.string();
    lexer.expect(';');
  } else if (word != ".noreturn") {
    throw std::runtime_error(fmt::format("unknown directive '{}' of a function", word));
  }
}

}  // namespace

Header parse_header(Lexer& lexer, bool entry) {
  Header header;
  Function& function = header.function;
  function.entry = entry;
  std::uint32_t bytes = 0;
  if (!entry && lexer.peek() == '(')
    function.results = parse_parameters(lexer, bytes, {Constant::Of::local, Space::local, 0, {}, false}, &header.names);
  function.name = lexer.word("the name of a function");
  if (lexer.peek() == '(')
    function.parameters = parse_parameters(lexer, function.parameter_bytes,
                                           {Constant::Of::parameter, Space::param, 0, {}, false}, &header.names);
  while (lexer.peek() == '.') parse_directive(lexer, lexer.directive(), function);
  return header;
}

}  // namespace tutti::emulator
