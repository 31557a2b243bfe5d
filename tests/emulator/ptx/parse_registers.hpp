// The registers that a function declares, in nested scopes.
#pragma once
#include <string_view>
#include <vector>

#include "tests/emulator/ptx/lexer.hpp"
#include "tests/emulator/ptx/program.hpp"

namespace tutti::emulator {

/// Hands out slots. Throws if there are too many.
class SlotCounter {
 public:
  Slot take(std::uint32_t slots = 1);
  std::uint32_t taken() const { return next_; }

 private:
  std::uint32_t next_ = kSpecialSlots;
};

class Registers {
 public:
  struct Found {
    Slot slot = kNoSlot;  ///< none: no such register
    Type type = Type::none;
  };

  explicit Registers(SlotCounter& slots) : slots_(slots) {}

  void open_scope() { scopes_.push_back(declared_.size()); }
  void close_scope();
  /// Reads what follows `.reg`: a type, names and ranges of names, a semicolon.
  void declare(Lexer& lexer);
  /// The innermost register of that name. It gets its slot when first asked for.
  Found find(std::string_view name);
  /// Low halves of .b128 registers.
  std::vector<Slot> take_pairs() { return std::move(pairs_); }

 private:
  struct Declared {
    std::string_view name;  ///< or what the names of a range begin with
    Type type;
    bool range;
    std::vector<Slot> slots;
  };
  std::uint32_t index_of(const Declared& declared, std::string_view name) const;

  SlotCounter& slots_;
  std::vector<Declared> declared_;
  std::vector<std::size_t> scopes_;
  std::vector<Slot> pairs_;
};

}  // namespace tutti::emulator
