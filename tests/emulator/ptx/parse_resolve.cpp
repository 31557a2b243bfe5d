// Operands: the slots that they mean.
#include "tests/emulator/ptx/parse_resolve.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tests/emulator/ptx/arithmetic.hpp"
#include "tests/emulator/ptx/decode_words.hpp"
#include "tests/emulator/ptx/parse_special.hpp"

namespace tutti::emulator {
namespace {

bool has_bits_only(Type type) {
  return type == Type::b8 || type == Type::b16 || type == Type::b32 || type == Type::b64 || type == Type::b128;
}
bool is_integer(Type type) { return is_signed(type) || (type >= Type::u8 && type <= Type::u64); }

/// Whether a register of type `has` may stand where `wanted` is wanted.
bool fits(Type has, Type wanted, bool wider) {
  if (has == Type::pred || wanted == Type::pred) return has == wanted;
  const int bytes = bytes_of(has), needed = bytes_of(wanted);
  if (bytes < needed || (bytes > needed && !wider)) return false;
  if (has_bits_only(has)) return true;
  if (is_integer(has)) return is_integer(wanted) || has_bits_only(wanted);
  return has_bits_only(wanted) || has == wanted;
}

[[noreturn]] void mismatch(std::string_view name, Type has, Type wanted) {
  throw std::runtime_error(
      fmt::format("the register '{}' has the type .{}, which does not fit .{}", name, name_of(has), name_of(wanted)));
}

[[noreturn]] void wrong_shape(const Operand& operand, std::string_view expected) {
  static constexpr std::string_view kNames[] = {"a name", "a number", "_", "a vector", "an address"};
  throw std::runtime_error(
      fmt::format("an operand is {}, expected {}", kNames[static_cast<std::size_t>(operand.of)], expected));
}

Instruction computation(std::string_view spelling, Slot to, Slot from) {
  Instruction instruction;
  instruction.kind = Kind::compute;
  instruction.compute = find_computation(spelling).compute;
  if (!instruction.compute) throw std::logic_error(fmt::format("there is no {}", spelling));
  instruction.to_count = instruction.from_count = 1;
  instruction.to[0] = to;
  instruction.from[0] = from;
  return instruction;
}

void push_to(Instruction& instruction, Slot slot) {
  if (instruction.to_count == Instruction::kOperands) throw std::runtime_error("too many destinations");
  instruction.to[instruction.to_count++] = slot;
}
void push_from(Instruction& instruction, Slot slot) {
  if (instruction.from_count == Instruction::kOperands) throw std::runtime_error("too many sources");
  instruction.from[instruction.from_count++] = slot;
}

}  // namespace

Slot Resolver::predicate(std::string_view name) {
  const Registers::Found found = registers_.find(name);
  if (found.slot == kNoSlot) throw std::runtime_error(fmt::format("unknown register '{}'", name));
  if (found.type != Type::pred) mismatch(name, found.type, Type::pred);
  return found.slot;
}

std::optional<Slot> Resolver::register_of(std::string_view name, Type type) {
  const Registers::Found found = registers_.find(name);
  if (found.slot == kNoSlot) return std::nullopt;
  if (!fits(found.type, type, false)) mismatch(name, found.type, type);
  return found.slot;
}

Slot Resolver::destination(const Operand& operand, std::string_view name, const OperandRule& rule, Type type) {
  const bool second = operand.paired && name.data() == operand.second.data();
  if (name == "_" && (rule.sink || second)) return nowhere;
  const bool is_name = operand.of == Operand::Of::name || operand.paired;
  if (!is_name || operand.negated || operand.offset != 0) wrong_shape(operand, "a register");
  const Registers::Found found = registers_.find(name);
  if (found.slot == kNoSlot) throw std::runtime_error(fmt::format("unknown register '{}'", name));
  if (!fits(found.type, type, rule.wider)) mismatch(name, found.type, type);
  return found.slot;
}

Slot Resolver::symbol_source(const Symbol& symbol, std::int64_t offset) {
  const auto addend = static_cast<std::uint64_t>(offset);
  switch (symbol.of) {
    case Constant::Of::variable:
    case Constant::Of::function: return constants_.slot_of(symbol.of, symbol.index, addend);
    case Constant::Of::shared:
      if (symbol.of_module) {
        if (names_.shared.variables[symbol.index].dynamic) return constants_.dynamic_shared(addend);
        return constants_.slot_of(symbol.of, 0, shared_offset(symbol.index) + addend);
      }
      return constants_.slot_of(symbol.of, 0, symbol.extent.offset + addend);
    case Constant::Of::local:
    case Constant::Of::parameter: return constants_.slot_of(symbol.of, 0, symbol.extent.offset + addend);
    case Constant::Of::literal: break;
  }
  throw std::logic_error("a symbol that is a literal");
}

Slot Resolver::named_source(std::string_view name, std::int64_t offset, const OperandRule& rule,
                            std::vector<Instruction>& before) {
  if (const Registers::Found found = registers_.find(name); found.slot != kNoSlot) {
    if (offset != 0) throw std::runtime_error(fmt::format("an addition to the register '{}'", name));
    if (!fits(found.type, rule.type, rule.wider)) mismatch(name, found.type, rule.type);
    return found.slot;
  }
  if (const std::optional<SpecialRegister> special = special_register(name)) {
    if (!rule.special) throw std::runtime_error(fmt::format("the special register '{}' as an operand", name));
    if (!fits(special->type, rule.type, true)) mismatch(name, special->type, rule.type);
    if (special->of == SpecialRegister::Of::slot) return static_cast<Slot>(special->value);
    if (special->of == SpecialRegister::Of::literal) return literal(special->value);
    Instruction& clock = before.emplace_back();
    clock.kind = Kind::clock;
    clock.type = special->type;
    clock.operation = static_cast<std::uint8_t>(special->value);
    push_to(clock, slots_.take());
    return clock.to[0];
  }
  const Symbol* const found = symbol(name);
  if (!found) throw std::runtime_error(fmt::format("unknown name '{}'", name));
  if (!rule.named) throw std::runtime_error(fmt::format("the address '{}' where a register must stand", name));
  const bool narrow =
      found->of == Constant::Of::shared || found->of == Constant::Of::local || found->of == Constant::Of::parameter;
  const bool whole = bytes_of(rule.type) == 8 || (bytes_of(rule.type) == 4 && narrow);
  if (!whole || !(is_integer(rule.type) || has_bits_only(rule.type)))
    throw std::runtime_error(fmt::format("the address '{}' does not fit .{}", name, name_of(rule.type)));
  return symbol_source(*found, offset);
}

Slot Resolver::source(const Operand& operand, const OperandRule& rule, std::vector<Instruction>& before) {
  if (operand.paired) wrong_shape(operand, "one operand, not a pair");
  if (operand.of == Operand::Of::literal) {
    if (operand.negated) throw std::runtime_error("'!' before a number");
    if (rule.type == Type::b128) wrong_shape(operand, "a register of 128 bits");
    return literal(bits_as(operand.literal, rule.type));
  }
  if (operand.of != Operand::Of::name) wrong_shape(operand, "a register or a number");
  if (!operand.negated) return named_source(operand.name, operand.offset, rule, before);
  if (rule.type != Type::pred) throw std::runtime_error("'!' before what is no predicate");
  const Slot negated = slots_.take();
  before.push_back(computation("not.pred", negated, predicate(operand.name)));
  return negated;
}

void Resolver::address(const Operand& operand, Instruction& instruction) {
  if (operand.of != Operand::Of::address) wrong_shape(operand, "an address in brackets");
  if (operand.of_literal) {
    if (instruction.space != Space::local) throw std::runtime_error("a number as an address");
    instruction.address = literal(bits_as(operand.literal, Type::u64));
    return;
  }
  instruction.offset = operand.offset;
  const bool near = instruction.space == Space::shared || instruction.space == Space::local ||
                    instruction.space == Space::param || instruction.space == Space::constant;
  if (const Registers::Found found = registers_.find(operand.name); found.slot != kNoSlot) {
    if (!fits(found.type, Type::u64, false) && !(near && fits(found.type, Type::u32, false)))
      mismatch(operand.name, found.type, Type::u64);
    instruction.address = found.slot;
    return;
  }
  const Symbol* const found = symbol(operand.name);
  if (!found) throw std::runtime_error(fmt::format("unknown name '{}'", operand.name));
  // Parameters of calls are in local memory, but instructions say .param.
  const bool of_call = instruction.space == Space::param && found->of == Constant::Of::local;
  if (of_call) instruction.space = Space::local;
  if (found->of == Constant::Of::function) throw std::runtime_error("an access to the memory of a function");
  if (found->space != instruction.space && !(instruction.space == Space::generic && found->space == Space::global))
    throw std::runtime_error(fmt::format("'{}' is in another state space", operand.name));
  instruction.address = symbol_source(*found, 0);
}

void Resolver::hint(const Operand& operand, const OperandRule& rule) {
  std::vector<Instruction> before;
  source(operand, rule, before);
}

void Resolver::resolve(const Form& form, const Operands& operands, Instruction& instruction,
                       std::vector<Instruction>& before) {
  const bool skips = operands.count + 1 == form.count &&
                     std::any_of(form.rules.begin(), form.rules.begin() + static_cast<std::ptrdiff_t>(form.count),
                                 [](const OperandRule& rule) { return rule.optional; });
  if (operands.count != form.count && !skips)
    throw std::runtime_error(fmt::format("{} operands, expected {}", operands.count, form.count));
  std::size_t next = 0;
  for (std::size_t k = 0; k < form.count; ++k) {
    const OperandRule& rule = form.rules[k];
    if (rule.optional && skips) {
      if (rule.role == OperandRule::Role::from) push_from(instruction, kNoSlot);
      continue;
    }
    const Operand& written = operands.items[next++];
    // {a} is the same as a.
    const bool one = rule.vector == 0 && written.of == Operand::Of::vector && written.count == 1;
    const Operand& operand = one ? operands.elements[written.first] : written;
    if ((operand.of == Operand::Of::vector) != (rule.vector != 0) || operand.count != rule.vector)
      wrong_shape(operand, rule.vector != 0 ? fmt::format("a vector of {}", rule.vector) : "a single one");
    const bool pairs = operand.paired && rule.pair != OperandRule::Pair::no;
    if (operand.paired != pairs || (rule.pair == OperandRule::Pair::must && !operand.paired))
      wrong_shape(operand, operand.paired ? "a single one" : "a pair");
    switch (rule.role) {
      case OperandRule::Role::address: address(operand, instruction); break;
      case OperandRule::Role::hint: hint(operand, rule); break;
      case OperandRule::Role::to:
        if (rule.vector == 0) push_to(instruction, destination(operand, operand.name, rule, rule.type));
        for (std::size_t e = operand.first; e < std::size_t{operand.first} + operand.count; ++e)
          push_to(instruction, destination(operands.elements[e], operands.elements[e].name, rule, rule.type));
        if (rule.pair != OperandRule::Pair::no)
          push_to(instruction, pairs ? destination(operand, operand.second, rule, rule.second) : Slot{nowhere});
        break;
      case OperandRule::Role::from:
        if (rule.vector == 0) push_from(instruction, source(operand, rule, before));
        for (std::size_t e = operand.first; e < std::size_t{operand.first} + operand.count; ++e)
          push_from(instruction, source(operands.elements[e], rule, before));
        break;
    }
  }
}

void Resolver::resolve_vector_move(Type type, const Operands& operands, Instruction& instruction) {
  if (operands.count != 2) throw std::runtime_error(fmt::format("{} operands, expected 2", operands.count));
  const Operand &to = operands.items[0], &from = operands.items[1];
  const bool packs = from.of == Operand::Of::vector;
  const Operand& parts = packs ? from : to;
  if (packs && to.of == Operand::Of::vector) throw std::runtime_error("a move between two vectors");
  const Computation found = find_vector_move(type, parts.count, packs);
  if (!found.compute)
    throw std::runtime_error(fmt::format("no mov.{} with a vector of {}", name_of(type), parts.count));
  instruction.kind = Kind::compute;
  instruction.compute = found.compute;
  instruction.type = type;
  static constexpr Type kBits[] = {Type::none, Type::b8,   Type::b16,  Type::none, Type::b32,
                                   Type::none, Type::none, Type::none, Type::b64};
  const OperandRule part{.type = kBits[bytes_of(type) / parts.count], .sink = true}, whole{.type = type};
  std::vector<Instruction> before;
  const auto elements = std::span(operands.elements).subspan(parts.first, parts.count);
  if (packs) {
    push_to(instruction, destination(to, to.name, whole, type));
    for (const Operand& element : elements) push_from(instruction, source(element, part, before));
  } else {
    for (const Operand& element : elements) push_to(instruction, destination(element, element.name, part, part.type));
    push_from(instruction, source(from, whole, before));
  }
  if (!before.empty()) throw std::runtime_error("a clock or a negation in a move of a vector");
}

}  // namespace tutti::emulator
