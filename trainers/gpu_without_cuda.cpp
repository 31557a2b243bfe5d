// Stands in for the GPU's maths in a build without CUDA.
#include "trainers/maths.hpp"

namespace tutti::trainers {

template <class T>
std::unique_ptr<Maths<T>> gpu_maths() {
  throw Error(ErrorCode::unsupported, "this build has no CUDA; train on the CPU, or build with TUTTI_CUDA=ON");
}
template std::unique_ptr<Maths<float>> gpu_maths();
template std::unique_ptr<Maths<double>> gpu_maths();

void prepare_for_gpu() {}

}  // namespace tutti::trainers
