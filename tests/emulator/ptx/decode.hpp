// What a mnemonic with its modifiers means, and which operands it takes.
//
// A modifier that is unknown, missing or twice there is an error that names it; their order means nothing, as for
// ptxas. Instructions that only compute are found by their whole spelling (see arithmetic.hpp).
#pragma once
#include <array>
#include <string_view>

#include "tests/emulator/ptx/program.hpp"

namespace tutti::emulator {

/// What may stand at one place of the operand list.
struct OperandRule {
  enum class Role : std::uint8_t {
    to,       ///< a register that is written, or _
    from,     ///< a register, number or address of a variable that is read
    address,  ///< [...]
    hint,     ///< a cache policy or a size, which changes nothing here
  };
  enum class Pair : std::uint8_t { no, may, must };  ///< d|p, two destinations

  Role role = Role::from;
  Type type = Type::b32;
  bool wider = false;     ///< a register of more bits will do
  bool optional = false;  ///< at most one of an instruction's operands is
  Pair pair = Pair::no;   ///< the second one is a predicate unless `second` says otherwise
  Type second = Type::pred;
  std::uint8_t vector = 0;  ///< so many of them in braces
  bool named = false;       ///< of a source: the address of a variable or function will do
  bool special = false;     ///< of a source: a special register will do
  bool sink = false;        ///< of a destination: _ will do
};

struct Form {
  static constexpr std::size_t kMost = 8;

  Instruction instruction;  ///< all that the spelling says; `kind` is that of the instruction
  std::array<OperandRule, kMost> rules;
  std::size_t count = 0;  ///< of the rules

  Form& add(const OperandRule& rule);
  Form& to(Type type) { return add({.role = OperandRule::Role::to, .type = type}); }
  Form& from(Type type) { return add({.role = OperandRule::Role::from, .type = type}); }
  Form& address() { return add({.role = OperandRule::Role::address}); }
};

/// The instruction of this spelling. `pair`: its first operand is a pair p|q, which some spellings need to be found.
/// Control flow (bra, brx, call) is not among them. Throws std::runtime_error that names what is unknown.
Form decode(std::string_view spelling, bool pair);

}  // namespace tutti::emulator
