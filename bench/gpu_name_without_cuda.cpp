#include "bench/gpu_name.hpp"

namespace tutti::bench {

std::string gpu_name() { return {}; }

}  // namespace tutti::bench
