#include "tests/emulator/ptx/parse_constants.hpp"

namespace tutti::emulator {

Slot Constants::slot_of(Constant::Of of, std::uint32_t symbol, std::uint64_t value) {
  const auto [entry, fresh] = known_.try_emplace({of, symbol, value}, kNoSlot);
  if (fresh) {
    entry->second = slots_.take();
    constants_.push_back({entry->second, of, symbol, value});
  }
  return entry->second;
}

std::vector<Constant> Constants::take(std::uint32_t dynamic_shared_begins) {
  for (Constant& constant : constants_)
    if (constant.of == Constant::Of::shared && constant.symbol == kDynamic) {
      constant.symbol = 0;
      constant.value += dynamic_shared_begins;
    }
  return std::move(constants_);
}

}  // namespace tutti::emulator
