#include "tests/emulator/ptx/parse_declaration.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "tests/emulator/ptx/decode_words.hpp"
#include "tests/emulator/ptx/parse_number.hpp"

namespace tutti::emulator {
namespace {

constexpr std::uint32_t kMostBytes = 0x7fffffff;

std::uint32_t parse_alignment(Lexer& lexer) {
  const std::uint32_t alignment = parse_count(lexer, "an alignment", 1, 1u << 16);
  if (!std::has_single_bit(alignment)) throw std::runtime_error("an alignment must be a power of two");
  return alignment;
}

/// `.ptr .global .align 8`: what a parameter points to, which changes nothing here.
void skip_pointer_attributes(Lexer& lexer) {
  for (const std::string_view space : {".global", ".shared", ".local", ".const"})
    if (lexer.take(space)) break;
  if (lexer.take(".align")) parse_alignment(lexer);
}

/// An element of an initial value that is (part of) an address.
struct Piece {
  std::string_view symbol;
  std::int64_t addend = 0;
  std::uint64_t mask = ~std::uint64_t{0};
};

class InitialValue {
 public:
  InitialValue(Variable& variable, Type type) : variable_(variable), type_(type) {}

  void parse(Lexer& lexer) {
    if (!lexer.take('{')) return element(lexer);
    if (lexer.take('}')) return;
    do {
      if (lexer.peek() == '{') throw std::runtime_error("an initial value with nested braces");
      element(lexer);
    } while (lexer.take(','));
    lexer.expect('}');
  }
  /// After the last element.
  void finish() const {
    if (open_bytes_ != 0) throw std::runtime_error("an initial value with a part of an address only");
  }

 private:
  void element(Lexer& lexer) {
    if (begins_literal(lexer.peek())) {
      const Literal literal = parse_literal(lexer);
      if (lexer.take('(')) {
        Piece piece = address(lexer);
        lexer.expect(')');
        piece.mask = literal.bits;
        return put(piece);
      }
      return put_number(bits_as(literal, type_));
    }
    put(address(lexer));
  }

  static Piece address(Lexer& lexer) {
    Piece piece;
    const bool generic = lexer.take("generic");
    if (generic) lexer.expect('(');
    piece.symbol = lexer.word("a number or a name");
    if (generic) lexer.expect(')');
    while (lexer.take('+')) piece.addend += parse_offset(lexer);
    return piece;
  }

  void put_number(std::uint64_t bits) {
    if (open_bytes_ != 0) throw std::runtime_error("an initial value with a part of an address only");
    const auto width = static_cast<std::size_t>(bytes_of(type_));
    const std::size_t at = grow(width);
    std::memcpy(variable_.initial.data() + at, &bits, std::min<std::size_t>(width, 8));
  }

  /// Whole, or byte for byte: 0xFF(a), 0xFF00(a), ... in the order of memory.
  void put(const Piece& piece) {
    const auto width = static_cast<std::size_t>(bytes_of(type_));
    if (width == 8 && piece.mask == ~std::uint64_t{0} && open_bytes_ == 0) {
      const std::size_t at = grow(8);
      variable_.references.push_back({static_cast<std::uint32_t>(at), std::string(piece.symbol), piece.addend});
      return;
    }
    if (width != 1) throw std::runtime_error(fmt::format("an address in an element of {} bytes", width));
    const bool same = open_bytes_ == 0 || (variable_.references.back().symbol == piece.symbol &&
                                           variable_.references.back().addend == piece.addend);
    if (!same || piece.mask != std::uint64_t{0xff} << (8 * open_bytes_))
      throw std::runtime_error("the bytes of an address in an order that the emulator does not know");
    const std::size_t at = grow(1);
    if (open_bytes_ == 0)
      variable_.references.push_back({static_cast<std::uint32_t>(at), std::string(piece.symbol), piece.addend});
    open_bytes_ = (open_bytes_ + 1) % 8;
  }

  std::size_t grow(std::size_t bytes) {
    const std::size_t at = variable_.initial.size();
    if (at + bytes > variable_.bytes)
      throw std::runtime_error(
          fmt::format("more initial values than '{}' has bytes: {}", variable_.name, variable_.bytes));
    variable_.initial.resize(at + bytes);
    return at;
  }

  Variable& variable_;
  Type type_;
  int open_bytes_ = 0;
};

}  // namespace

Declaration parse_declaration(Lexer& lexer) {
  Declaration found;
  std::uint32_t vector = 1;
  std::string_view word;
  bool aligned = false;
  while (lexer.peek() == '.') {
    word = lexer.directive();
    if (word == ".align") {
      found.alignment = parse_alignment(lexer);
      aligned = true;
    } else if (word == ".v2" || word == ".v4") {
      vector = word == ".v2" ? 2 : 4;
    } else if (word == ".ptr") {
      skip_pointer_attributes(lexer);
    } else if (word == ".attribute") {
      lexer.expect('(');
      if (!lexer.take(".managed")) lexer.expected(".managed: the emulator knows no other attribute");
      lexer.expect(')');
    } else if (found.type == Type::none && (found.type = type_of(word.substr(1))) != Type::none) {
      continue;
    } else {
      throw std::runtime_error(fmt::format("unknown attribute '{}' of a variable", word));
    }
  }
  word = lexer.word("a type or a name");
  if (found.type == Type::none || found.type == Type::pred)
    throw std::runtime_error(fmt::format("the variable '{}' has no type that memory can hold", word));
  found.name = word;
  std::uint64_t count = vector;
  for (bool first = true; lexer.take('['); first = false) {
    found.open = first && lexer.peek() == ']';
    count *= found.open ? 0 : parse_count(lexer, "a number of elements", 0, kMostBytes);
    lexer.expect(']');
    if (count > kMostBytes) throw std::runtime_error(fmt::format("'{}' is too large", found.name));
  }
  const auto width = static_cast<std::uint32_t>(bytes_of(found.type));
  if (count * width > kMostBytes) throw std::runtime_error(fmt::format("'{}' is too large", found.name));
  found.bytes = static_cast<std::uint32_t>(count * width);
  if (!aligned) found.alignment = width * vector;
  return found;
}

Extent placed(const Declaration& declaration, std::uint32_t& bytes) {
  const std::uint32_t offset = (bytes + declaration.alignment - 1) / declaration.alignment * declaration.alignment;
  bytes = offset + declaration.bytes;
  return {offset, declaration.bytes, declaration.alignment};
}

Variable parse_variable(Lexer& lexer, Space space, bool external) {
  const Declaration declaration = parse_declaration(lexer);
  Variable variable{std::string(declaration.name), space, declaration.bytes, declaration.alignment, {}, {}, external};
  if (declaration.open && !external)
    throw std::runtime_error(fmt::format("the variable '{}' has no size", variable.name));
  if (lexer.take('=')) {
    InitialValue value(variable, declaration.type);
    value.parse(lexer);
    value.finish();
  }
  lexer.expect(';');
  return variable;
}

}  // namespace tutti::emulator
