// The keys of a machine file: what each means, its unit, and which machines have it.
#pragma once
#include <span>
#include <variant>

#include "kernels/machine.hpp"

namespace tutti::predict {

enum class Needed {
  never,   ///< not a key of such machines
  maybe,   ///< 0, or what the default says, if it is not there
  always,  ///< may be 0
  above,   ///< the same, more than 0
};

struct Key {
  const char* name;
  const char* unit;
  std::variant<int timed::Machine::*, double timed::Machine::*> member;
  Needed gpu, cpu;  ///< of a machine of GPUs, of CPUs
};

/// In the order in which they are written.
std::span<const Key> machine_keys();

}  // namespace tutti::predict
