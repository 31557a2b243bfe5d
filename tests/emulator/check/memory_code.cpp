#include "tests/emulator/check/memory_code.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace tutti::emulator {

void CodeNumbers::look_up(const Thread& thread) {
  last_ = thread.function;
  for (const Known& known : known_)
    if (known.function == last_) {
      last_begin_ = known.begin;
      return;
    }
  const Image* const image = thread.block->launch().image;
  last_begin_ = next_;
  known_.push_back({last_, image ? image->module : nullptr, next_});
  next_ += static_cast<std::uint32_t>(last_->code.size());
  if (next_ >= 1u << 24) throw std::runtime_error("more instructions than the checker has numbers for");
}

const CodeNumbers::Known* CodeNumbers::owner(std::uint32_t number) const {
  for (const Known& known : known_)
    if (number >= known.begin && number - known.begin < known.function->code.size()) return &known;
  return nullptr;
}

const Instruction* CodeNumbers::find(std::uint32_t number) const {
  const Known* const known = owner(number);
  return known ? &known->function->code[number - known->begin] : nullptr;
}

std::string CodeNumbers::describe(std::uint32_t number) const {
  const Known* const known = owner(number);
  if (!known) return "the host";
  const Instruction& instruction = known->function->code[number - known->begin];
  std::string text = fmt::format("{} at PTX line {}", known->function->name, instruction.line);
  if (known->module)
    text += fmt::format(" ({}): {}", known->module->source(*known->function, instruction),
                        known->module->text(instruction));
  return text;
}

}  // namespace tutti::emulator
