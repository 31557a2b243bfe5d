// Could this process use a GPU at all?
#pragma once
#include <string>

namespace tutti {

/// What keeps this process from a GPU: no CUDA in this build, or no driver; empty if nothing does. Local, starts
/// nothing, never throws.
std::string lack_of_gpu();

}  // namespace tutti
