// Which GPU this is, and whether it is one at all.
#pragma once
#include <string>
#include <string_view>

namespace tutti::bench {

/// Of the calling thread's current GPU; empty if there is none, as in a build without CUDA.
std::string gpu_name();

/// Is that a GPU emulated on the CPU (tests/emulator)? Its results count, its times mean nothing and are not shown.
inline bool is_emulated(std::string_view gpu) { return gpu.starts_with("tutti emulated GPU"); }

}  // namespace tutti::bench
