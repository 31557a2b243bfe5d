// Small programs drawn from a seed: two to four threads, up to four instructions each and a barrier, up to three
// locations.
#pragma once
#include <cstdint>

#include "tests/emulator/litmus/program.hpp"

namespace tutti::emulator::litmus {

/// The same seed gives the same program. More than half have the shape of a well-known litmus test. Threads are placed
/// on one or two GPUs and in one or two CTAs of each; some programs have strong accesses only, others pass plain data
/// behind flags, with barriers where threads share a CTA; scopes and orders are right in many and wrong in many. No
/// polls: every thread ends.
Program random_program(std::uint64_t seed);

}  // namespace tutti::emulator::litmus
