#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace tutti::emulated {

/// What ptxas says about a kernel in the machine code beside the PTX.
struct MachineCodeFacts {
  int registers = 0;
  std::size_t local_bytes = 0;
};

/// Those of all kernels in a cubin, by name; empty if it is laid out in a way that is not known here.
std::map<std::string, MachineCodeFacts> facts_in(const std::string& cubin);

}  // namespace tutti::emulated
