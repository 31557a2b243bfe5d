// A build without CUDA has no GPU.
#include <cstdlib>
#include <string_view>

#include "collectives/native_cuda.hpp"

namespace tutti {

bool gpu_available() { return false; }

std::shared_ptr<detail::DeviceSession> device_session(Bootstrap& bootstrap, std::chrono::nanoseconds) {
  const char* const asked = std::getenv("TUTTI_DEVICE");
  const int needs = asked && std::string_view(asked) == "gpu" ? 1 : 0;
  for (const int theirs : bootstrap.all_gather(needs))
    if (theirs)
      throw Error(ErrorCode::unsupported,
                  "TUTTI_DEVICE is gpu, but this build of tutti has no CUDA; build it where nvcc is found");
  return nullptr;
}

std::unique_ptr<Backend> native_cuda_backend(detail::SessionState&, const CommunicatorOptions&) {
  throw Error(ErrorCode::unsupported, "this build of tutti has no CUDA");
}

}  // namespace tutti
