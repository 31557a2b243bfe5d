// Single instructions of a kernel changed for the worse, as a slip of the author's or the compiler's would.
#pragma once
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "tests/emulator/ptx/program.hpp"

namespace tutti::emulator {

struct Mutation {
  std::string name;    ///< such as "release made relaxed"
  std::size_t at = 0;  ///< in Function::code
  void (*change)(Instruction&) = nullptr;
};

/// Every change that can be made to the instructions `among`. Those that do not touch memory or order are left alone.
std::vector<Mutation> mutations_of(const Function& function, const std::set<std::size_t>& among);

/// The function with the change.
Function mutated(const Function& function, const Mutation& mutation);

}  // namespace tutti::emulator
