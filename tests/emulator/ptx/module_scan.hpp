// A PTX text without its function bodies: what the module declares, and where the bodies stand.
#pragma once
#include <deque>
#include <string>
#include <vector>

#include "tests/emulator/ptx/parse_body.hpp"
#include "tests/emulator/ptx/parse_header.hpp"

namespace tutti::emulator {

struct ModuleScan {
  struct FunctionText {
    Header header;
    BodyText body{};  ///< if header.function.defined
  };
  std::string version, target;
  std::vector<Variable> variables;
  std::vector<std::string> files;
  std::deque<FunctionText> functions;
  ModuleNames names;  ///< refers to `functions` and to the text
};

/// Throws TextError.
ModuleScan scan_module(std::string_view text);

}  // namespace tutti::emulator
