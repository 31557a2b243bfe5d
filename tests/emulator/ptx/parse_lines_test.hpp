// Lines of PTX with a verdict of ptxas each: "+ line" or "- line". They stand in the body that line_module() makes.
#pragma once
#include <string>
#include <vector>

namespace tutti::emulator {

extern const char* const kMemoryLines;
extern const char* const kComputeLines;
extern const char* const kOrderLines;

/// A module with a kernel `k0`, `k1`, ... for each of the bodies, all with the same declarations. The body of kernel k
/// stands in one line, number line_of(k).
std::string line_module(const std::vector<std::string>& bodies);
int line_of(std::size_t kernel);

}  // namespace tutti::emulator
