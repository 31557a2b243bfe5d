// Fewer slots for a function: nvcc's PTX names every value anew, tens of thousands of registers in a kernel of tutti,
// of which a few hundred are alive at once.
#pragma once
#include "tests/emulator/ptx/program.hpp"

namespace tutti::emulator {

/// Renumbers the registers so that those that are not alive at the same time share slots; constants and special slots
/// keep theirs. What a register that nobody has written holds is unspecified, before as after.
void pack_slots(Function& function);

}  // namespace tutti::emulator
