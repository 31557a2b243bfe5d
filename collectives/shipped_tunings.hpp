// The files of collectives/tunings, in the library: written by embed_tunings.cmake.
#pragma once
#include <string_view>

namespace tutti {

extern const std::string_view kCpuTuning;      ///< ranks that have a core each
extern const std::string_view kCrowdedTuning;  ///< more ranks than cores
extern const std::string_view kGpuTuning;

}  // namespace tutti
