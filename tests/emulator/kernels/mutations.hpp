// Instructions of a kernel changed for the worse, as a slip of the author's or the compiler's would.
#pragma once
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "tests/emulator/ptx/program.hpp"

namespace tutti::emulator {

struct Mutation {
  std::string name;             ///< such as "releases made relaxed"
  std::vector<std::size_t> at;  ///< in Function::code
  void (*change)(Instruction&) = nullptr;
};

/// The changes that can be made to the instructions `among`: of the order of flags and packets, everywhere in the
/// kernel; of barriers, and of the accesses that move the caller's data, one instruction at a time.
std::vector<Mutation> mutations_of(const Module& module, const Function& function, const std::set<std::size_t>& among);

/// The function with the change.
Function mutated(const Function& function, const Mutation& mutation);

}  // namespace tutti::emulator
