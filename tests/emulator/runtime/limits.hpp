#pragma once

#include <vector_types.h>

#include <cstdint>

namespace tutti::emulated {

// What every emulated device has, as those of compute capability 7.5 to 12 do.
inline constexpr int kMostThreadsPerBlock = 1024;
inline constexpr dim3 kMostThreads{1024, 1024, 64};
inline constexpr dim3 kMostBlocks{2147483647, 65535, 65535};
inline constexpr int kWarpSize = 32;
inline constexpr int kSharedPerBlock = 48 << 10;  ///< without asking for more

}  // namespace tutti::emulated
