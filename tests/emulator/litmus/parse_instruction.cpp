#include "tests/emulator/litmus/parse_instruction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace tutti::emulator::litmus {
namespace {

using Words = std::map<std::string, int, std::less<>>;

const std::map<std::string, Order, std::less<>> kOrders = {{"weak", Order::weak},       {"relaxed", Order::relaxed},
                                                           {"acquire", Order::acquire}, {"release", Order::release},
                                                           {"acq_rel", Order::acq_rel}, {"sc", Order::seq_cst}};
const std::map<std::string, Scope, std::less<>> kScopes = {
    {"cta", Scope::cta}, {"gpu", Scope::gpu}, {"sys", Scope::sys}};
const std::map<std::string, AtomicOperation, std::less<>> kOperations = {
    {"add", AtomicOperation::add},       {"min", AtomicOperation::min},
    {"max", AtomicOperation::max},       {"and", AtomicOperation::bit_and},
    {"or", AtomicOperation::bit_or},     {"xor", AtomicOperation::bit_xor},
    {"exch", AtomicOperation::exchange}, {"cas", AtomicOperation::compare_and_swap}};

/// The parts of a mnemonic, taken from the front.
class Modifiers {
 public:
  Modifiers(const std::string& mnemonic, const Tokens& tokens) : mnemonic_(mnemonic), tokens_(tokens) {
    for (std::size_t begin = 0; begin <= mnemonic.size();) {
      const std::size_t end = std::min(mnemonic.find('.', begin), mnemonic.size());
      parts_.push_back(mnemonic.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  std::string take() {
    if (next_ == parts_.size()) fail("is not complete");
    return parts_[next_++];
  }
  bool accept(std::string_view part) {
    if (next_ == parts_.size() || parts_[next_] != part) return false;
    ++next_;
    return true;
  }
  template <class Map>
  auto take(const Map& words, const char* what) {
    const std::string part = take();
    const auto found = words.find(part);
    if (found == words.end()) fail(fmt::format("has '{}' for {}", part, what));
    return found->second;
  }
  void end() {
    if (next_ != parts_.size()) fail(fmt::format("has '{}' too much", parts_[next_]));
  }
  [[noreturn]] void fail(const std::string& what) const { tokens_.fail(fmt::format("{} {}", mnemonic_, what)); }

 private:
  const std::string& mnemonic_;
  const Tokens& tokens_;
  std::vector<std::string> parts_;
  std::size_t next_ = 0;
};

int register_of(Tokens& tokens, Thread& thread) {
  const std::string name = tokens.take_name("a register");
  if (name.find('.') != std::string::npos) tokens.fail(fmt::format("'{}' is not a register of this thread", name));
  const auto found = std::find(thread.registers.begin(), thread.registers.end(), name);
  if (found == thread.registers.end()) {
    thread.registers.push_back(name);
    return static_cast<int>(thread.registers.size()) - 1;
  }
  return static_cast<int>(found - thread.registers.begin());
}

Operand operand_of(Tokens& tokens, Thread& thread) {
  Operand operand;
  if (tokens.next_is_number()) {
    operand.plus = tokens.take_number("a value");
    return operand;
  }
  operand.reg = register_of(tokens, thread);
  if (tokens.accept("+")) operand.plus = tokens.take_number("a number");
  return operand;
}

RegisterTest test_of(Tokens& tokens, Thread& thread) {
  RegisterTest test;
  if (tokens.peek() == "hi" || tokens.peek() == "lo") {
    test.part = tokens.take() == "hi" ? Part::high : Part::low;
    tokens.expect("(");
    test.reg = register_of(tokens, thread);
    tokens.expect(")");
  } else {
    test.reg = register_of(tokens, thread);
  }
  test.comparison = parse_comparison(tokens);
  test.constant = tokens.take_number("a number");
  return test;
}

void parse_address(Tokens& tokens, const Program& program, Instruction& instruction) {
  tokens.expect("[");
  const std::string name = tokens.take_name("a location");
  for (std::size_t l = 0; l < program.locations.size(); ++l)
    if (program.locations[l].name == name) instruction.location = static_cast<int>(l);
  if (instruction.location < 0) tokens.fail(fmt::format("no location is named '{}'", name));
  if (tokens.accept("+")) instruction.offset = static_cast<int>(tokens.take_number("an offset in bytes"));
  tokens.expect("]");
}

/// One item, or as many as the vector has in braces.
template <class Take>
void parse_elements(Tokens& tokens, int vector, Take take) {
  if (vector == 1) return take();
  tokens.expect("{");
  for (int i = 0; i < vector; ++i) {
    if (i > 0) tokens.expect(",");
    take();
  }
  tokens.expect("}");
}

void parse_order_and_scope(Modifiers& modifiers, Instruction& instruction, bool access) {
  if (access && modifiers.accept("volatile")) {
    instruction.is_volatile = true;
    instruction.order = Order::relaxed;
    instruction.scope = Scope::sys;
    return;
  }
  instruction.order = modifiers.take(kOrders, "the order");
  if (instruction.order != Order::weak) instruction.scope = modifiers.take(kScopes, "the scope");
}

void parse_load_or_store(Modifiers& modifiers, Tokens& tokens, const Program& program, Thread& thread,
                         Instruction& instruction) {
  const bool load = instruction.kind == Kind::load;
  parse_order_and_scope(modifiers, instruction, true);
  const Order order = instruction.order;
  if (order == Order::seq_cst || order == Order::acq_rel || order == (load ? Order::release : Order::acquire))
    modifiers.fail("cannot have this order");
  for (const auto& [word, vector] : Words{{"v2", 2}, {"v4", 4}})
    if (modifiers.accept(word)) instruction.vector = vector;
  instruction.width = parse_type(tokens, modifiers.take());
  modifiers.end();
  const auto address = [&] { parse_address(tokens, program, instruction); };
  if (load) {
    parse_elements(tokens, instruction.vector, [&] { instruction.to.push_back(register_of(tokens, thread)); });
    tokens.expect(",");
    address();
    if (tokens.accept("until")) instruction.until = test_of(tokens, thread);
  } else {
    address();
    tokens.expect(",");
    parse_elements(tokens, instruction.vector, [&] { instruction.from.push_back(operand_of(tokens, thread)); });
  }
}

void parse_atomic(Modifiers& modifiers, Tokens& tokens, const Program& program, Thread& thread,
                  Instruction& instruction) {
  parse_order_and_scope(modifiers, instruction, false);
  if (instruction.order == Order::weak || instruction.order == Order::seq_cst) modifiers.fail("cannot have this order");
  if (instruction.kind == Kind::reduction && instruction.order != Order::relaxed && instruction.order != Order::release)
    modifiers.fail("returns nothing, so cannot acquire");
  instruction.operation = modifiers.take(kOperations, "the operation");
  const bool swap = instruction.operation == AtomicOperation::compare_and_swap;
  if (instruction.kind == Kind::reduction && (swap || instruction.operation == AtomicOperation::exchange))
    modifiers.fail("is not in PTX");
  instruction.width = parse_type(tokens, modifiers.take());
  modifiers.end();
  if (instruction.kind == Kind::atomic) {
    instruction.to.push_back(register_of(tokens, thread));
    tokens.expect(",");
  }
  parse_address(tokens, program, instruction);
  for (int i = 0; i < (swap ? 2 : 1); ++i) {
    tokens.expect(",");
    instruction.from.push_back(operand_of(tokens, thread));
  }
}

void parse_fence(Modifiers& modifiers, Instruction& instruction) {
  parse_order_and_scope(modifiers, instruction, false);
  if (instruction.order == Order::weak || instruction.order == Order::relaxed) modifiers.fail("cannot have this order");
  modifiers.end();
}

void parse_membar(Modifiers& modifiers, Instruction& instruction) {
  instruction.order = Order::seq_cst;
  instruction.scope = modifiers.take(
      std::map<std::string, Scope, std::less<>>{{"cta", Scope::cta}, {"gl", Scope::gpu}, {"sys", Scope::sys}},
      "the scope");
  modifiers.end();
}

}  // namespace

Comparison parse_comparison(Tokens& tokens) {
  for (const auto& [word, comparison] : {std::pair{"==", Comparison::equal},
                                         {"!=", Comparison::not_equal},
                                         {"<=", Comparison::less_equal},
                                         {">=", Comparison::greater_equal},
                                         {"<", Comparison::less},
                                         {">", Comparison::greater}})
    if (tokens.accept(word)) return comparison;
  tokens.fail(fmt::format("expected a comparison, got '{}'", tokens.peek()));
}

int parse_type(Tokens& tokens, const std::string& type) {
  for (const int bytes : {1, 2, 4, 8})
    if (type == fmt::format("u{}", 8 * bytes) || type == fmt::format("b{}", 8 * bytes)) return bytes;
  tokens.fail(fmt::format("'{}' is not a type: use u8, u16, u32, u64 or b8, b16, b32, b64", type));
}

void parse_instruction(Tokens& tokens, const Program& program, Thread& thread, int line) {
  Instruction instruction;
  instruction.line = line;
  if (tokens.accept("if")) {
    instruction.guard = test_of(tokens, thread);
    tokens.expect(":");
  }
  const std::string mnemonic = tokens.take_name("an instruction");
  Modifiers modifiers(mnemonic, tokens);
  const std::string first = modifiers.take();
  if (first == "ld" || first == "st") {
    instruction.kind = first == "ld" ? Kind::load : Kind::store;
    parse_load_or_store(modifiers, tokens, program, thread, instruction);
  } else if (first == "atom" || first == "red") {
    instruction.kind = first == "atom" ? Kind::atomic : Kind::reduction;
    parse_atomic(modifiers, tokens, program, thread, instruction);
  } else if (first == "fence" || first == "membar") {
    instruction.kind = Kind::fence;
    first == "fence" ? parse_fence(modifiers, instruction) : parse_membar(modifiers, instruction);
  } else if (mnemonic == "bar.sync" || mnemonic == "bar.arrive") {
    instruction.kind = mnemonic == "bar.sync" ? Kind::barrier : Kind::barrier_arrive;
    instruction.barrier = static_cast<int>(tokens.take_number("the number of a barrier"));
    if (instruction.barrier > 15) tokens.fail("a CTA has barriers 0 to 15");
  } else {
    tokens.fail(fmt::format("'{}' is not an instruction of litmus tests", mnemonic));
  }
  tokens.end();
  thread.code.push_back(std::move(instruction));
}

}  // namespace tutti::emulator::litmus
