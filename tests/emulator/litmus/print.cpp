#include <fmt/format.h>

#include "tests/emulator/litmus/parse.hpp"

namespace tutti::emulator::litmus {
namespace {

const char* word(Comparison comparison) {
  switch (comparison) {
    case Comparison::equal: return "==";
    case Comparison::not_equal: return "!=";
    case Comparison::less: return "<";
    case Comparison::less_equal: return "<=";
    case Comparison::greater: return ">";
    case Comparison::greater_equal: return ">=";
  }
  return "?";
}

const char* word(Scope scope) { return scope == Scope::cta ? "cta" : scope == Scope::gpu ? "gpu" : "sys"; }

const char* word(AtomicOperation operation) {
  switch (operation) {
    case AtomicOperation::add: return "add";
    case AtomicOperation::min: return "min";
    case AtomicOperation::max: return "max";
    case AtomicOperation::bit_and: return "and";
    case AtomicOperation::bit_or: return "or";
    case AtomicOperation::bit_xor: return "xor";
    case AtomicOperation::exchange: return "exch";
    case AtomicOperation::compare_and_swap: return "cas";
    default: return "?";
  }
}

std::string name(const Thread& thread, int reg) { return thread.registers.at(static_cast<std::size_t>(reg)); }

std::string text(const Thread& thread, const RegisterTest& test) {
  const std::string reg = name(thread, test.reg);
  const std::string part = test.part == Part::whole ? reg : (test.part == Part::high ? "hi(" : "lo(") + reg + ")";
  return fmt::format("{} {} {}", part, word(test.comparison), test.constant);
}

std::string text(const Thread& thread, const Operand& operand) {
  if (operand.reg < 0) return fmt::format("{}", operand.plus);
  return operand.plus == 0 ? name(thread, operand.reg) : fmt::format("{}+{}", name(thread, operand.reg), operand.plus);
}

template <class Items, class Show>
std::string elements(const Items& items, Show show) {
  std::string list;
  for (const auto& item : items) list += (list.empty() ? "" : ", ") + show(item);
  return items.size() == 1 ? list : "{" + list + "}";
}

std::string order_and_scope(const Instruction& instruction) {
  if (instruction.is_volatile) return ".volatile";
  if (instruction.order == Order::weak) return ".weak";
  return fmt::format(".{}.{}", spelling_of(instruction.order), word(instruction.scope));
}

std::string access(const Program& program, const Thread& thread, const Instruction& instruction) {
  const std::string& location = program.locations.at(static_cast<std::size_t>(instruction.location)).name;
  const std::string address =
      instruction.offset == 0 ? fmt::format("[{}]", location) : fmt::format("[{}+{}]", location, instruction.offset);
  const std::string vector = instruction.vector == 1 ? "" : fmt::format(".v{}", instruction.vector);
  const std::string type = fmt::format("u{}", 8 * instruction.width);
  const auto reg = [&](int r) { return name(thread, r); };
  const auto operand = [&](const Operand& o) { return text(thread, o); };
  if (instruction.kind == Kind::load)
    return fmt::format("ld{}{}.{} {}, {}", order_and_scope(instruction), vector, type, elements(instruction.to, reg),
                       address);
  if (instruction.kind == Kind::store)
    return fmt::format("st{}{}.{} {}, {}", order_and_scope(instruction), vector, type, address,
                       elements(instruction.from, operand));
  std::string atomic = fmt::format("{}{}.{}.{} ", instruction.kind == Kind::atomic ? "atom" : "red",
                                   order_and_scope(instruction), word(instruction.operation), type);
  if (instruction.kind == Kind::atomic) atomic += reg(instruction.to.front()) + ", ";
  atomic += address;
  for (const Operand& o : instruction.from) atomic += ", " + operand(o);
  return atomic;
}

}  // namespace

const char* spelling_of(Order order) {
  switch (order) {
    case Order::weak: return "weak";
    case Order::relaxed: return "relaxed";
    case Order::acquire: return "acquire";
    case Order::release: return "release";
    case Order::acq_rel: return "acq_rel";
    case Order::seq_cst: return "sc";
  }
  return "?";
}

std::string print(const Program& program, const Thread& thread, const Instruction& instruction) {
  std::string line = instruction.guard ? "if " + text(thread, *instruction.guard) + ": " : "";
  switch (instruction.kind) {
    case Kind::fence:
      line += fmt::format("fence.{}.{}", spelling_of(instruction.order), word(instruction.scope));
      break;
    case Kind::barrier: line += fmt::format("bar.sync {}", instruction.barrier); break;
    case Kind::barrier_arrive: line += fmt::format("bar.arrive {}", instruction.barrier); break;
    default: line += access(program, thread, instruction); break;
  }
  if (instruction.until) line += " until " + text(thread, *instruction.until);
  return line;
}

std::string print(const Program& program) {
  std::string out;
  for (const Location& location : program.locations) {
    out += fmt::format("location {} u{}", location.name, 8 * location.width);
    if (location.elements > 1) out += fmt::format("[{}]", location.elements);
    if (location.initial != 0) out += fmt::format(" = {}", location.initial);
    out += '\n';
  }
  for (const Thread& thread : program.threads) {
    out += fmt::format("thread {} gpu {} cta {}", thread.name, thread.gpu, thread.cta);
    if (!thread.after.empty()) out += " after";
    for (const int earlier : thread.after) out += " " + program.threads.at(static_cast<std::size_t>(earlier)).name;
    out += '\n';
    for (const Instruction& instruction : thread.code) out += "  " + print(program, thread, instruction) + '\n';
  }
  return out;
}

}  // namespace tutti::emulator::litmus
