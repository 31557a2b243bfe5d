// Small PTX texts for tests of the parser.
#pragma once
#include <string>

#include "tests/emulator/ptx/program.hpp"

namespace tutti::emulator {

inline std::string in_module(const std::string& text) {
  return ".version 9.0\n.target sm_100\n.address_size 64\n" + text;
}

/// A module with the kernel `k`; `body` begins in line kBodyLine.
inline constexpr int kBodyLine = 11;
inline std::string in_kernel(const std::string& body) {
  return in_module(
      ".global .align 16 .b8 g[64];\n.shared .align 16 .b8 s[64];\n.const .align 16 .b8 c[64];\n"
      ".visible .entry k(.param .u64 p)\n{\n"
      ".reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .f64 %fd<9>;\n"
      ".reg .b128 %q<3>;\n" +
      body + "\nret;\n}\n");
}

}  // namespace tutti::emulator
