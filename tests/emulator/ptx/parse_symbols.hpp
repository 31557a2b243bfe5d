// Names that stand for addresses.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tests/emulator/ptx/program.hpp"

namespace tutti::emulator {

struct Symbol {
  Constant::Of of = Constant::Of::literal;
  Space space = Space::generic;
  std::uint32_t index = 0;  ///< of a variable, a function, or of SharedPlan::variables
  Extent extent;            ///< of one in a function: where in its space
  bool of_module = false;   ///< of one in shared memory
};

/// Shared memory that a module declares outside its functions. A kernel pays for those that it uses, unless a function
/// that is called uses shared memory too: then all kernels have the same layout, with room for everything.
struct SharedPlan {
  struct Variable {
    std::string_view name;
    Extent extent;
    bool dynamic = false;  ///< extern, without a size
  };
  std::vector<Variable> variables;
  bool fixed = false;
  std::uint32_t bytes = 0;                                ///< if `fixed`: of every kernel
  std::unordered_map<std::string, std::uint32_t> begins;  ///< if `fixed`: where what a function declares begins
};

/// What the functions of a module can name.
struct ModuleNames {
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
  };
  std::unordered_map<std::string, Symbol, Hash, std::equal_to<>> symbols;
  std::vector<const Function*> functions;  ///< with parameters, without code
  SharedPlan shared;
};

}  // namespace tutti::emulator
