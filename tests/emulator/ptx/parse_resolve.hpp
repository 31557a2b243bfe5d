// Names of a function: its registers and variables, and the slots that operands mean.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "tests/emulator/ptx/decode.hpp"
#include "tests/emulator/ptx/parse_constants.hpp"
#include "tests/emulator/ptx/parse_declaration.hpp"
#include "tests/emulator/ptx/parse_operands.hpp"
#include "tests/emulator/ptx/parse_registers.hpp"
#include "tests/emulator/ptx/parse_symbols.hpp"

namespace tutti::emulator {

struct NamedSymbol {
  std::string_view name;
  Symbol symbol;
};

class Resolver {
 public:
  /// `function` has its header; it is given its code's needs (slots, memory, constants) by finish().
  Resolver(const ModuleNames& names, std::span<const NamedSymbol> parameters, Function& function);

  void open_scope();
  void close_scope();
  /// Reads what follows `.reg`.
  void declare_registers(Lexer& lexer) { registers_.declare(lexer); }
  /// Reads what follows `.local`, `.shared` or `.param` in a body, with the semicolon.
  void declare_variable(Lexer& lexer, Space space);

  /// Fills in the operands as the form's rules say. Instructions that must run before it are added to `before`.
  void resolve(const Form& form, const Operands& operands, Instruction& instruction, std::vector<Instruction>& before);
  /// mov with a vector on one side.
  void resolve_vector_move(Type type, const Operands& operands, Instruction& instruction);
  /// A guard.
  Slot predicate(std::string_view name);
  /// The register of that name, which must fit `type`; none if there is none.
  std::optional<Slot> register_of(std::string_view name, Type type);
  /// A variable of the function or the module; null if there is none of that name.
  const Symbol* symbol(std::string_view name) const;
  Slot literal(std::uint64_t bits) { return constants_.literal(bits); }
  void finish();

 private:
  Slot destination(const Operand& operand, std::string_view name, const OperandRule& rule, Type type);
  Slot source(const Operand& operand, const OperandRule& rule, std::vector<Instruction>& before);
  Slot named_source(std::string_view name, std::int64_t offset, const OperandRule& rule,
                    std::vector<Instruction>& before);
  Slot symbol_source(const Symbol& symbol, std::int64_t offset);
  void address(const Operand& operand, Instruction& instruction);
  void hint(const Operand& operand, const OperandRule& rule);
  std::uint32_t shared_offset(std::uint32_t variable);

  struct Scope {
    std::size_t symbols;
    std::uint32_t local_bytes;
    bool declares_local = false;
  };

  const ModuleNames& names_;
  Function& function_;
  SlotCounter slots_;
  Registers registers_;
  Constants constants_;
  std::vector<NamedSymbol> symbols_;  ///< of the function, innermost last
  std::vector<Scope> scopes_;
  std::uint32_t local_bytes_ = 0;                             ///< of what is declared here and around
  std::uint32_t shared_bytes_ = 0;                            ///< in use
  std::vector<std::optional<std::uint32_t>> shared_offsets_;  ///< of SharedPlan::variables
};

}  // namespace tutti::emulator
