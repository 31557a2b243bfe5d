// The slots of a function that hold the same value while it runs.
#pragma once
#include <unordered_map>
#include <vector>

#include "tests/emulator/ptx/parse_registers.hpp"

namespace tutti::emulator {

class Constants {
 public:
  explicit Constants(SlotCounter& slots) : slots_(slots) {}

  Slot literal(std::uint64_t bits) { return slot_of(Constant::Of::literal, 0, bits); }
  Slot slot_of(Constant::Of of, std::uint32_t symbol, std::uint64_t value);
  /// `addend` bytes into dynamic shared memory, whose place is known at the end of the function only.
  Slot dynamic_shared(std::uint64_t addend) { return slot_of(Constant::Of::shared, kDynamic, addend); }
  std::vector<Constant> take(std::uint32_t dynamic_shared_begins);

 private:
  static constexpr std::uint32_t kDynamic = 1;
  struct Key {
    Constant::Of of;
    std::uint32_t symbol;
    std::uint64_t value;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      const std::uint64_t mixed =
          key.value + (static_cast<std::uint64_t>(key.of) << 60) + (std::uint64_t{key.symbol} << 40);
      return mixed * 0x9e3779b97f4a7c15u >> 7;
    }
  };

  SlotCounter& slots_;
  std::unordered_map<Key, Slot, Hash> known_;
  std::vector<Constant> constants_;
};

}  // namespace tutti::emulator
