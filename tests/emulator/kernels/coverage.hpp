// Which instructions of a kernel a series of launches executes.
#pragma once
#include <cstddef>
#include <set>
#include <span>

#include "tests/emulator/check/schedule.hpp"

namespace tutti::emulator {

/// Runs the streams once, thread by thread in turn, on plain memory. Returns the instructions of `function` that touch
/// global memory, or are barriers, and were executed. The host's work is done but told to nobody.
std::set<std::size_t> covered(std::span<const Stream> streams, const Function* function,
                              std::span<const MulticastWindow> windows);

}  // namespace tutti::emulator
