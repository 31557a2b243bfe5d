#include "tests/emulator/ptx/parse_operands.hpp"

namespace tutti::emulator {
namespace {

void take_offset(Lexer& lexer, Operand& operand) {
  while (lexer.take('+')) operand.offset += parse_offset(lexer);
}

/// A register, variable, number or `_`.
void parse_scalar(Lexer& lexer, Operand& operand) {
  operand.negated = lexer.take('!');
  if (begins_literal(lexer.peek())) {
    operand.of = Operand::Of::literal;
    operand.literal = parse_literal(lexer);
    return;
  }
  operand.name = lexer.word("an operand");
  operand.of = operand.name == "_" ? Operand::Of::sink : Operand::Of::name;
  if (operand.name != "WARP_SZ") return;
  operand.of = Operand::Of::literal;
  operand.literal = {Literal::Of::integer, false, 32};
}

void parse_address(Lexer& lexer, Operand& operand) {
  operand.of = Operand::Of::address;
  operand.of_literal = begins_literal(lexer.peek());
  if (operand.of_literal)
    operand.literal = parse_literal(lexer);
  else
    operand.name = lexer.word("an address");
  if (!operand.of_literal) take_offset(lexer, operand);
  lexer.expect(']');
}

void parse_vector(Lexer& lexer, Operands& operands, Operand& operand) {
  operand.of = Operand::Of::vector;
  operand.first = static_cast<std::uint8_t>(operands.element_count);
  do {
    if (operands.element_count == Operands::kMost) throw std::runtime_error("too many elements");
    Operand& element = operands.elements[operands.element_count++] = {};
    parse_scalar(lexer, element);
    ++operand.count;
  } while (lexer.take(','));
  lexer.expect('}');
}

}  // namespace

void parse_operands(Lexer& lexer, Operands& operands) {
  operands.count = operands.element_count = 0;
  if (lexer.take(';')) return;
  do {
    if (operands.count == Operands::kMost) throw std::runtime_error("too many operands");
    Operand& operand = operands.items[operands.count++] = {};
    if (lexer.take('[')) {
      parse_address(lexer, operand);
    } else if (lexer.take('{')) {
      parse_vector(lexer, operands, operand);
    } else {
      parse_scalar(lexer, operand);
      if (operand.of == Operand::Of::name) take_offset(lexer, operand);
      operand.paired = operand.of != Operand::Of::literal && lexer.take('|');
      if (operand.paired) operand.second = lexer.word("the second destination");
    }
  } while (lexer.take(','));
  lexer.expect(';');
}

}  // namespace tutti::emulator
