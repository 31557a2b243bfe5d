#include "tests/emulator/ptx/parse_number.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>

namespace tutti::emulator {
namespace {

std::uint64_t digits(std::string_view text, std::string_view whole, int base) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error == std::errc::result_out_of_range) throw std::runtime_error(fmt::format("{} has more than 64 bits", whole));
  if (text.empty() || error != std::errc{} || end != text.data() + text.size())
    throw std::runtime_error(fmt::format("'{}' is no number", whole));
  return value;
}

Literal float_bits(std::string_view whole, Literal::Of of, std::size_t expected) {
  const std::string_view text = whole.substr(2);
  if (text.size() != expected)
    throw std::runtime_error(fmt::format("'{}' has {} digits, not {}", whole, text.size(), expected));
  return {of, false, digits(text, whole, 16)};
}

Literal number(Lexer& lexer) {
  std::string_view whole = lexer.word("a number");
  if (whole == "WARP_SZ") return {Literal::Of::integer, false, 32};
  const char kind = whole.size() > 1 && whole[0] == '0' ? static_cast<char>(whole[1] | 0x20) : '\0';
  if (kind == 'f') return float_bits(whole, Literal::Of::single, 8);
  if (kind == 'd') return float_bits(whole, Literal::Of::twice, 16);
  if (kind != 'x' && whole.find_first_of(".eE") != std::string_view::npos) {
    if ((whole.back() | 0x20) == 'e') whole = lexer.with_exponent(whole);
    double value = 0;
    const auto [end, error] = std::from_chars(whole.data(), whole.data() + whole.size(), value);
    if (error != std::errc{} || end != whole.data() + whole.size())
      throw std::runtime_error(fmt::format("'{}' is no number", whole));
    return {Literal::Of::twice, false, std::bit_cast<std::uint64_t>(value)};
  }
  std::string_view text = whole;
  const bool suffix = text.back() == 'U';
  if (suffix) text.remove_suffix(1);
  std::uint64_t value = 0;
  if (kind == 'x')
    value = digits(text.substr(2), whole, 16);
  else if (kind == 'b')
    value = digits(text.substr(2), whole, 2);
  else if (text.size() > 1 && text[0] == '0')
    value = digits(text.substr(1), whole, 8);
  else
    value = digits(text, whole, 10);
  return {Literal::Of::integer, suffix || value >> 63 != 0, value};
}

Literal expression(Lexer& lexer, int above);

Literal integer(const Literal& literal, std::string_view operation) {
  if (literal.of != Literal::Of::integer)
    throw std::runtime_error(fmt::format("'{}' of a number that is no integer", operation));
  return literal;
}

Literal negated(Literal literal) {
  if (literal.of == Literal::Of::single) literal.bits ^= 0x80000000u;
  if (literal.of == Literal::Of::twice) literal.bits ^= std::uint64_t{1} << 63;
  if (literal.of == Literal::Of::integer) literal.bits = 0 - literal.bits, literal.is_unsigned = false;
  return literal;
}

Literal unary(Lexer& lexer) {
  if (lexer.take('-')) return negated(unary(lexer));
  if (lexer.take('+')) return unary(lexer);
  if (lexer.take('~')) {
    Literal value = integer(unary(lexer), "~");
    value.bits = ~value.bits;
    return value;
  }
  if (lexer.take('!')) return {Literal::Of::integer, false, integer(unary(lexer), "!").bits == 0};
  if (!lexer.take('(')) return number(lexer);
  for (const auto& [cast, is_unsigned] : {std::pair{std::string_view{".s64"}, false}, {".u64", true}}) {
    if (!lexer.take(cast)) continue;
    lexer.expect(')');
    Literal value = integer(unary(lexer), cast);
    value.is_unsigned = is_unsigned;
    return value;
  }
  const Literal value = expression(lexer, 0);
  lexer.expect(')');
  return value;
}

struct Operator {
  std::string_view text;
  int precedence;
};
constexpr Operator kOperators[] = {{"||", 1}, {"&&", 2}, {"==", 6}, {"!=", 6}, {"<<", 8}, {">>", 8},
                                   {"<=", 7}, {">=", 7}, {"|", 3},  {"^", 4},  {"&", 5},  {"<", 7},
                                   {">", 7},  {"+", 9},  {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10}};

const Operator* next_operator(Lexer& lexer, int above) {
  lexer.peek();
  for (const Operator& each : kOperators)
    if (lexer.starts_with(each.text)) return each.precedence > above ? &each : nullptr;
  return nullptr;
}

Literal apply(std::string_view operation, const Literal& left, const Literal& right) {
  const std::uint64_t a = integer(left, operation).bits, b = integer(right, operation).bits;
  const bool is_unsigned = left.is_unsigned || right.is_unsigned;
  const auto sa = static_cast<std::int64_t>(a), sb = static_cast<std::int64_t>(b);
  const auto value = [&](std::uint64_t bits) { return Literal{Literal::Of::integer, is_unsigned, bits}; };
  const auto truth = [](bool is) { return Literal{Literal::Of::integer, false, is}; };
  if (operation == "||") return truth(a != 0 || b != 0);
  if (operation == "&&") return truth(a != 0 && b != 0);
  if (operation == "==") return truth(a == b);
  if (operation == "!=") return truth(a != b);
  if (operation == "<") return truth(is_unsigned ? a < b : sa < sb);
  if (operation == ">") return truth(is_unsigned ? a > b : sa > sb);
  if (operation == "<=") return truth(is_unsigned ? a <= b : sa <= sb);
  if (operation == ">=") return truth(is_unsigned ? a >= b : sa >= sb);
  if (operation == "|") return value(a | b);
  if (operation == "^") return value(a ^ b);
  if (operation == "&") return value(a & b);
  if (operation == "+") return value(a + b);
  if (operation == "-") return value(a - b);
  if (operation == "*") return value(a * b);
  if (operation == "<<" || operation == ">>") {
    if (b > 63) throw std::runtime_error(fmt::format("a shift by {}", b));
    if (operation == "<<") return {Literal::Of::integer, left.is_unsigned, a << b};
    return {Literal::Of::integer, left.is_unsigned, left.is_unsigned ? a >> b : static_cast<std::uint64_t>(sa >> b)};
  }
  if (b == 0) throw std::runtime_error("a division by zero");
  const bool overflows = !is_unsigned && sb == -1;  // the least integer by -1 would trap
  if (operation == "/") return value(overflows ? 0 - a : is_unsigned ? a / b : static_cast<std::uint64_t>(sa / sb));
  return value(overflows ? 0 : is_unsigned ? a % b : static_cast<std::uint64_t>(sa % sb));
}

Literal expression(Lexer& lexer, int above) {
  Literal left = unary(lexer);
  while (const Operator* const operation = next_operator(lexer, above)) {
    lexer.skip(operation->text.size());
    left = apply(operation->text, left, expression(lexer, operation->precedence));
  }
  if (above == 0 && lexer.take('?')) {
    const Literal yes = expression(lexer, 0);
    lexer.expect(':');
    const Literal no = expression(lexer, 0);
    return integer(left, "?").bits != 0 ? yes : no;
  }
  return left;
}

}  // namespace

bool begins_literal(char c) { return (c >= '0' && c <= '9') || c == '-' || c == '(' || c == '~' || c == '+'; }

Literal parse_literal(Lexer& lexer) { return expression(lexer, 0); }

std::int64_t parse_offset(Lexer& lexer) {
  const bool negative = lexer.take('-');
  const std::uint64_t value = integer(number(lexer), "+").bits;
  return static_cast<std::int64_t>(negative ? 0 - value : value);
}

std::uint32_t parse_count(Lexer& lexer, std::string_view what, std::uint32_t least, std::uint32_t most) {
  const Literal literal = unary(lexer);  // in %r<5> the > is no operator
  if (literal.of != Literal::Of::integer || literal.bits < least || literal.bits > most)
    throw std::runtime_error(fmt::format("{} must be from {} to {}", what, least, most));
  return static_cast<std::uint32_t>(literal.bits);
}

std::uint64_t bits_as(const Literal& literal, Type type) {
  if (literal.of == Literal::Of::integer) {
    if (type == Type::pred) return literal.bits != 0;
    if (type == Type::f32 || type == Type::f64 || type == Type::f16 || type == Type::bf16)
      throw std::runtime_error("an integer where a floating-point number is expected");
    return literal.bits;  // of which ptxas too takes the low ones
  }
  const bool single = literal.of == Literal::Of::single;
  if (type == Type::f64 || (type == Type::b64 && !single))
    return single ? std::bit_cast<std::uint64_t>(
                        static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(literal.bits))))
                  : literal.bits;
  if (type == Type::f32 || (type == Type::b32 && single))
    return single ? literal.bits
                  : std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(literal.bits)));
  throw std::runtime_error("a floating-point number where another type is expected");
}

}  // namespace tutti::emulator
