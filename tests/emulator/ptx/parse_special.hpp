// Special registers: what the machine tells a thread about itself.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "tests/emulator/ptx/program.hpp"

namespace tutti::emulator {

struct SpecialRegister {
  enum class Of : std::uint8_t { slot, literal, clock } of;
  Type type;
  std::uint32_t value;  ///< a SpecialSlot, the literal, or a Clock
};

/// The special register of this name. Those of clusters are what they are without clusters: one of one block.
std::optional<SpecialRegister> special_register(std::string_view name);

}  // namespace tutti::emulator
