#include "collectives/gpu_driver.hpp"

namespace tutti {

std::string lack_of_gpu() { return "this build has no CUDA"; }

}  // namespace tutti
