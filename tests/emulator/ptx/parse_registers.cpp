#include "tests/emulator/ptx/parse_registers.hpp"

#include <fmt/format.h>

#include "tests/emulator/ptx/decode_words.hpp"
#include "tests/emulator/ptx/parse_number.hpp"

namespace tutti::emulator {
namespace {

constexpr std::uint32_t kNoIndex = 0xffffffff;

}  // namespace

Slot SlotCounter::take(std::uint32_t slots) {
  if (next_ + slots >= kNoSlot) throw std::runtime_error(fmt::format("more than {} registers and constants", kNoSlot));
  next_ += slots;
  return static_cast<Slot>(next_ - slots);
}

void Registers::close_scope() {
  declared_.resize(scopes_.back());
  scopes_.pop_back();
}

void Registers::declare(Lexer& lexer) {
  const std::string_view word = lexer.directive();
  const Type type = type_of(word.substr(1));
  if (type == Type::none) throw std::runtime_error(fmt::format("'{}' is no type of a register", word));
  do {
    const std::string_view name = lexer.word("a register");
    const bool range = lexer.take('<');
    const std::uint32_t count = range ? parse_count(lexer, "the number of registers", 0, 1u << 24) : 1;
    if (range) lexer.expect('>');
    for (std::size_t k = scopes_.empty() ? 0 : scopes_.back(); k < declared_.size(); ++k)
      if (declared_[k].name == name && declared_[k].range == range)
        throw std::runtime_error(fmt::format("'{}' is declared twice", name));
    declared_.push_back({name, type, range, std::vector<Slot>(count, kNoSlot)});
  } while (lexer.take(','));
  lexer.expect(';');
}

std::uint32_t Registers::index_of(const Declared& declared, std::string_view name) const {
  if (!declared.range) return name == declared.name ? 0 : kNoIndex;
  if (name.size() <= declared.name.size() || !name.starts_with(declared.name)) return kNoIndex;
  std::uint64_t index = 0;
  const std::string_view digits = name.substr(declared.name.size());
  if (digits.size() > 9 || (digits.size() > 1 && digits[0] == '0')) return kNoIndex;
  for (const char c : digits) {
    if (c < '0' || c > '9') return kNoIndex;
    index = index * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return index < declared.slots.size() ? static_cast<std::uint32_t>(index) : kNoIndex;
}

Registers::Found Registers::find(std::string_view name) {
  for (std::size_t k = declared_.size(); k-- > 0;) {
    Declared& declared = declared_[k];
    const std::uint32_t index = index_of(declared, name);
    if (index == kNoIndex) continue;
    Slot& slot = declared.slots[index];
    if (slot == kNoSlot) {
      const bool pair = declared.type == Type::b128;
      slot = slots_.take(pair ? 2 : 1);
      if (pair) pairs_.push_back(slot);
    }
    return {slot, declared.type};
  }
  return {};
}

}  // namespace tutti::emulator
